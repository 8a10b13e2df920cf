package import AccessControl
import DoorSupport
import CommandFailures
import Glibc
import OstiaryClient
import SecretMemory

/// One file with several names: git starts it as `git-credential-ostiary`, docker as `docker-credential-ostiary`.
///
/// The command line is what git and docker give, one word. A library for arguments would take as long to start as all the rest.
package struct CredentialProgram: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case git(GitAction, rule: PlacedRule?)
        case docker(DockerAction)
        case help, version
        /// Git gives a helper words of later versions, which it has to pass over.
        case nothing
    }

    package enum GitAction: String, Sendable { case get, store, erase }
    package enum DockerAction: String, Sendable { case get, store, erase, list, version }

    package let name: String
    package let action: Action

    /// Reads the command line: the program's name or, where that is another one, its first argument says whose helper it is.
    ///
    /// - Throws: `usage`, and for docker ``DockerCredentialHelper/KnownFailure``.
    package init(arguments: [String]) throws {
        let called = arguments.first.map { String($0.split(separator: "/").last ?? "") } ?? ""
        var rest = Array(arguments.dropFirst())
        if let software = Self.software(called) {
            name = called
            action = try Self.action(software, rest)
            return
        }
        guard let first = rest.first else { throw DoorFailure.usage(Self.usage) }
        name = "ostiary-credential-helper"
        switch first {
        case "--help", "-h": action = .help
        case "--version": action = .version
        default:
            guard let software = CredentialPlace.Software(rawValue: first) else { throw DoorFailure.usage(Self.usage) }
            rest.removeFirst()
            action = try Self.action(software, rest)
        }
    }

    private static func software(_ name: String) -> CredentialPlace.Software? {
        switch name {
        case "git-credential-ostiary": .git
        case "docker-credential-ostiary": .docker
        default: nil
        }
    }

    private static func action(_ software: CredentialPlace.Software, _ words: [String]) throws -> Action {
        if let first = words.first, ["--help", "-h"].contains(first) { return .help }
        if words == ["--version"] { return .version }
        switch software {
        case .git: return try gitAction(words)
        case .docker:
            guard words.count == 1 else {
                throw DockerCredentialHelper.KnownFailure(DockerCredentialHelper.Message.usage)
            }
            guard let action = DockerAction(rawValue: words[0]) else {
                throw DockerCredentialHelper.KnownFailure(DockerCredentialHelper.Message.unknownAction(words[0]))
            }
            return .docker(action)
        }
    }

    private static func gitAction(_ words: [String]) throws(DoorFailure) -> Action {
        var (words, rule) = (words[...], PlacedRule?.none)
        if words.first == "--require" {
            guard words.count >= 2 else { throw .usage("--require needs a rule, such as passcode. \(usage)") }
            rule = try parsedRule(words[words.startIndex + 1])
            words = words.dropFirst(2)
        }
        guard let word = words.first, words.count == 1 else { throw .usage(usage) }
        return GitAction(rawValue: word).map { Action.git($0, rule: rule) } ?? .nothing
    }

    private static func parsedRule(_ text: String) throws(DoorFailure) -> PlacedRule {
        do {
            let rule = try PlacedRule(parsing: text)
            _ = try Requirement(rule.rule)
            return rule
        } catch { throw .usage("The rule behind --require cannot be used: \(error).") }
    }

    package static let usage =
        "Use it as git's credential.helper or docker's credsStore; `git-credential-ostiary --help` says how."
    package static let version = "0.1.0"

    package static let help = """
        Keeps passwords of git and docker in Ostiary.

          git-credential-ostiary [--require RULE] get|store|erase
          docker-credential-ostiary get|store|erase|list|version

        Nobody types these: git and docker do.

          git config --global credential.helper ostiary
          git config --global credential.helper 'ostiary --require "biometry or passcode"'
          docker: { "credsStore": "ostiary" } in ~/.docker/config.json

        A password is readable as long as the store is unlocked. With --require each password that git stores from then on asks for
        that rule when it is used. `ostiary item list --class internet --group ostiary.doors` shows what is kept, and the manual page
        ostiary-credential-helper(1) says more.

        """
}

/// `ostiary-credential-helper`, which git and docker start by their own names for it.
package enum CredentialHelper {
    /// The whole program.
    package static func main() -> Never {
        DoorProgram.begin()
        exit(run(CommandLine.arguments))
    }

    /// - Returns: the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        do {
            return try run(CredentialProgram(arguments: arguments))
        } catch let known as DockerCredentialHelper.KnownFailure {
            return failed(forDocker: known.message)
        } catch {
            return DoorReport.failed(DoorFailure(any: error), program: "ostiary-credential-helper").rawValue
        }
    }

    private static func run(_ program: CredentialProgram) -> Int32 {
        do {
            switch program.action {
            case .help: print(CredentialProgram.help, terminator: "")
            case .version: print(CredentialProgram.version)
            case .nothing: break
            case .git(let action, let rule): try git(action, rule)
            case .docker(.version): print("\(program.name) (ostiary) \(CredentialProgram.version)")
            case .docker(let action): try docker(action)
            }
            return EXIT_SUCCESS
        } catch let known as DockerCredentialHelper.KnownFailure {
            return failed(forDocker: known.message)
        } catch {
            let failure = DoorFailure(any: error)
            if case .docker = program.action { return failed(forDocker: failure.explanation) }
            return DoorReport.failed(failure, program: program.name).rawValue
        }
    }

    /// Docker shows what stands on standard output, and knows no other status.
    private static func failed(forDocker message: String) -> Int32 {
        print(message)
        return EXIT_FAILURE
    }

    private static func git(_ action: CredentialProgram.GitAction, _ rule: PlacedRule?) throws {
        let given = try GitCredential(
            parsing: SecretStreams.read(STDIN_FILENO, limit: CredentialLimits.inputByteCount))
        // Nothing is asked of Ostiary that cannot lead to anything.
        _ = try given.place()
        let client = try begin()
        defer { client.leave() }
        let helper = GitCredentialHelper(CredentialItems(of: client, rule: rule))
        switch action {
        case .get:
            guard let answer = try helper.get(given) else { return }
            try SecretStreams.write(answer, to: STDOUT_FILENO)
        case .store: try helper.store(given)
        case .erase: try helper.erase(given)
        }
    }

    private static func docker(_ action: CredentialProgram.DockerAction) throws {
        let input =
            if action == .list {
                SecretBytes(zeroed: 0)
            } else {
                try SecretStreams.read(STDIN_FILENO, limit: CredentialLimits.inputByteCount)
            }
        let client = try begin()
        defer { client.leave() }
        let helper = DockerCredentialHelper(CredentialItems(of: client))
        switch action {
        case .get: try SecretStreams.write(helper.get(input), to: STDOUT_FILENO)
        case .list: try SecretStreams.write(helper.list(), to: STDOUT_FILENO)
        case .store: try helper.store(input)
        case .erase: try helper.erase(input)
        case .version: break
        }
    }

    private static func begin() throws(DoorFailure) -> ServedClient {
        let client = ServedClient(parent: try ParentClient.ofThisProcess())
        try client.begin()
        return client
    }
}
