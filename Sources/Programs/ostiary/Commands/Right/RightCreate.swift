import AccessControl
import ArgumentParser
import OstiaryClient
import OstiaryMessages
import SecretMemory

struct RightCreate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a right: a new key, and optionally a secret.",
        discussion: """
            A rule joins factors with “and”, “or”, parentheses and “2 of (…, …)”. Factors are \
            \(Factor.allCases.map(\.name).joined(separator: ", ")).

            The secret is every byte of its file, a final newline too, up to \(Self.secretByteLimit) bytes. It comes \
            only from a file or pipe, because others can see arguments and the environment.

            Examples:
              ostiary right create 2fa --require passcode
              ostiary right create vault --require "biometry and passcode"
              ostiary right create deploy --hard 900 --uses 3
              ostiary right create transfers --require passcode --confirm-each
              ostiary right create git --confirm-each --allow-leases --lease-time 30m
              ostiary right create deploy --group org.example.deploy
              pass show token | ostiary right create token --secret -
            """)

    /// The size that one message of the wire carries.
    static let secretByteLimit = WireLimits.secretByteCount

    /// Nothing completes it: the names that a shell could offer are taken.
    @Argument(help: "The name of the new right.", transform: RightArgument.checkedName) var name: String

    @OptionGroup var group: RightGroupOption

    @OptionGroup var protection: ProtectionOptions

    @Option(help: ArgumentHelp("Keep the content of this file as the secret, - for standard input.", valueName: "file"))
    var secret: InputFile?

    @Flag(
        help: """
            Ask for each signature, and show what is signed. The right does nothing but sign. In a TPM the chip signs only \
            what was shown.
            """)
    var confirmEach = false

    @OptionGroup var leases: LeaseOptions

    @Flag(help: "Destroy an existing right of this name with its key and secret; asks before. Otherwise it is kept.")
    var replace = false

    @OptionGroup var force: ForceFlag
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard replace || !force.isGiven else { throw ValidationError("--force belongs to --replace.") }
        guard confirmEach else {
            guard !leases.allowLeases else { throw Self.leasesWithoutConfirmation }
            return
        }
        guard secret == nil else {
            throw ValidationError("With --confirm-each a right only signs; leave --secret out.")
        }
        guard try protection.grantLimits == nil else {
            throw Self.limitsOfConfirmedSignatures
        }
    }

    static let limitsOfConfirmedSignatures = ValidationError(
        "With --confirm-each no authorization lasts, and there is no trusted place; leave --idle, --hard, --uses and "
            + "`at trusted place` out.")

    static let leasesWithoutConfirmation = ValidationError(
        "--allow-leases belongs to --confirm-each. Other objects permit leases within --idle, --hard and --uses.")

    func run() throws {
        let requirement = try protection.requirement
        if replace { try requireConsent() }
        let created = try create(
            confirmEach
                ? AccessControl(
                    availability: protection.available, confirmingEachSignatureWith: requirement,
                    leases: leases.given())
                : AccessControl(
                    availability: protection.available, using: requirement, limits: protection.grantLimits))
        if json.isGiven { return try JSONOutput.print(RightDocument(created)) }
        let each = confirmEach ? " for each signature" : ""
        StandardError.line(
            "Created \(created.identifier.visibleName), \(words(for: requirement))\(each).")
        // The right is made; that its daemon has gone since is no failure of this.
        if (try? OstiaryClient.shared.status().passcode.isSet) == false { StandardError.line(ItemAdd.missingPasscode) }
    }

    private func words(for requirement: Requirement) -> String {
        ProtectionOptions.words(
            for: requirement, isAtTrustedPlace: protection.require?.isAtTrustedPlace ?? false)
    }

    /// Nobody is asked where nothing would be destroyed.
    private func requireConsent() throws {
        guard !force.isGiven else { return }
        do { _ = try OstiaryClient.shared.right(name, accessGroup: group.given) } catch let error as OstiaryError
            where error.isFailure(.notFound)
        {
            return
        } catch let error as OstiaryError where error.isFailure(.itemUnreadable) {}
        try Consent.require("This destroys the present right \(name.quotedName), its key and its secret.", force)
    }

    private func create(_ access: AccessControl) throws -> StoredRight {
        do { return try store(access) } catch let error as OstiaryError where error.isFailure(.duplicate) {
            throw OstiaryError(
                error.code,
                "There is a right called \(name.quotedName) already; it is kept. --replace destroys it and makes a new one.",
                cause: error.cause)
        }
    }

    private func store(_ access: AccessControl) throws -> StoredRight {
        let interaction = interaction(for: access)
        guard let secret else {
            return try OstiaryClient.shared.createRight(
                name, accessControl: access, accessGroup: group.given, replacing: replace, interaction: interaction)
        }
        return try OstiaryClient.shared.createRight(
            name, accessControl: access, accessGroup: group.given, secret: Self.read(secret), replacing: replace,
            interaction: interaction)
    }

    /// Creating asks for nothing but a new application password.
    private func interaction(for access: AccessControl) -> Interaction? {
        guard access.keyRequirement.factors.contains(.applicationPassword) else { return nil }
        return reason.interaction(otherwise: "choose the application password of the new right")
    }

    static func read(_ secret: InputFile) throws -> SecretBytes {
        if secret.isStandardInput, StreamDescriptor.standardInput.isTerminal {
            StandardError.line("Reading the secret from the terminal, which shows it; Ctrl-D ends it.")
        }
        let bytes = try secret.secretBytes(limit: secretByteLimit)
        guard !bytes.isEmpty else { throw CommandError.emptySecret(name: secret.name) }
        return bytes
    }
}
