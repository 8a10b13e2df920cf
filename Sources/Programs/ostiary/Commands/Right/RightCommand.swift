import ArgumentParser

struct RightCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "right",
        abstract: "Make and use rights: keys and secrets under a rule.",
        discussion: """
            Examples:
              ostiary right create 2fa --require passcode
              ostiary right list
            """,
        subcommands: [
            RightCreate.self, RightList.self, RightShow.self, RightAuthorize.self, RightRemove.self,
            RightPublicKey.self,
            RightSign.self, RightVerify.self, RightEncrypt.self, RightDecrypt.self, RightSecret.self,
            RightAttest.self,
        ])
}
