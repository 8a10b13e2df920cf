import ArgumentParser

struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make and use keys of the enclave, as programs know them from the keychain.",
        discussion: """
            A key never leaves the enclave. Programs of the same access group find it as a keychain item of class key with \
            its label.

            Examples:
              ostiary key create release --require passcode
              ostiary key sign release archive.tar --output archive.sig
            """,
        subcommands: [KeyCreate.self, KeyList.self, KeySign.self, KeyPublicKey.self, KeyRemove.self, KeyPrune.self])
}
