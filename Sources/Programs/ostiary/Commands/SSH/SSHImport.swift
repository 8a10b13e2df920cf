import AccessControl
import ArgumentParser
import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import UnixSocket

struct SSHImport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store a private key of OpenSSH under a rule.",
        discussion: """
            Ed25519, RSA and ECDSA keys in OpenSSH's format. The file stays; destroy it yourself once the key works. The \
            key is kept as a secret under the rule. For each signature it leaves the store and signs in the memory of the \
            agent, so it is marked as imported everywhere. A key of `ostiary ssh create` never leaves the enclave.

            If the file has a passphrase, OpenSSH's /usr/bin/ssh-add asks for it and gives the key to this command alone.

            \(SSHLimitOptions.discussion)

            Examples:
              ostiary ssh import ~/.ssh/id_ed25519
              ostiary ssh import ~/.ssh/id_rsa --name old --host old.example.org
            """)

    @Argument(help: ArgumentHelp("The file with the private key.", valueName: "file"), completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("The name of the key (default: the file's name).", valueName: "name"),
        transform: RightArgument.checkedName)
    var name: String?

    @Option(
        help: ArgumentHelp("The rule for a signature (default: \(RuleArgument.standard)).", valueName: "rule"),
        transform: RuleArgument.init)
    var require: RuleArgument?

    @OptionGroup var limits: SSHLimitOptions
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        let rule = try require ?? RuleArgument(RuleArgument.standard)
        let constraints = try limits.constraints()
        let key = try KeyFileReader(path: file).read()
        let held = try store(key, rule, constraints)
        if json.isGiven { return try JSONOutput.print(SSHKeyDocument(held, requires: "\(rule.requirement)")) }
        let words = SSHLimitWords(constraints)
        let needs = ProtectionOptions.words(for: rule.requirement, isAtTrustedPlace: rule.isAtTrustedPlace)
        StandardError.line("Imported \(held.name.visibleName), \(needs): \(words.short.visibleLine).")
        for line in words.pinnedLines { StandardError.line(line) }
        StandardError.line("The private key is still in \(file.visibleName), too.")
        try StandardOutput.line("\(held.publicKey.line) \(held.name)".visibleLine)
    }

    private var keyName: String { name ?? PathName.last(of: file) }

    private func store(
        _ key: SSHPrivateKey, _ rule: RuleArgument, _ constraints: SSHKeyConstraints
    ) throws -> HeldKey {
        let use = ItemUse(interaction: reason.interaction(otherwise: "import a key for SSH"))
        do { return try ImportedKey.store(key, keyName, access(rule), constraints, use) } catch let error
            as OstiaryError where error.isFailure(.missingEntitlement)
        {
            throw CommandError.notInDoorGroup
        } catch let error as OstiaryError where error.isFailure(.duplicate) {
            throw OstiaryError(
                error.code,
                "There is an imported key called \(keyName.quotedName) already; it is kept. Give another name with --name, or "
                    + "destroy it with `ostiary ssh remove`.", cause: error.cause)
        }
    }

    private func access(_ rule: RuleArgument) throws -> AccessControl {
        AccessControl(
            availability: .whenUnlocked, reading: rule.requirement,
            limits: rule.isAtTrustedPlace ? try GrantLimits(isAtTrustedPlace: true) : nil)
    }
}

/// Reads a private key, with OpenSSH's help if it has a passphrase.
struct KeyFileReader {
    let path: String

    func read() throws -> SSHPrivateKey {
        guard let input = InputFile(argument: path), !input.isStandardInput else {
            throw CommandError.usage("A key is imported from a file, which ssh-add may have to read, too.")
        }
        let bytes = try input.secretBytes(limit: KeyFileLimits.fileByteCount)
        do {
            let file = try OpenSSHKeyFile(bytes)
            guard file.isEncrypted else { return try Self.usable(try file.open().key) }
            let publicKey = file.publicKey
            guard publicKey.type != .securityKeyP256, publicKey.type != .securityKeyEd25519 else {
                throw KeyFileError.unsupported(keyType: publicKey.name)
            }
            return try opened(byOpenSSH: publicKey)
        } catch let error as KeyFileError {
            throw CommandError.sshKey("\(path.quotedName) was not imported: \(error).")
        }
    }

    private static func usable(_ key: SSHPrivateKey) throws(KeyFileError) -> SSHPrivateKey {
        guard key.kind != .securityKey else { throw .unsupported(keyType: key.publicKey.name) }
        return key
    }

    /// - Parameter publicKey: what the file says before it is decrypted.
    private func opened(byOpenSSH publicKey: SSHPublicKey) throws -> SSHPrivateKey {
        let key = try KeyHandover.key(from: path)
        guard key.publicKey == publicKey else { throw KeyFileError.mismatch }
        return key
    }
}
