import AccessControl
import AgePlugin
import ArgumentParser
import CommandFailures
import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages

/// `age-plugin-ostiary`: age's keys in the enclave.
package enum AgeProgram {
    /// The whole program. Returns when its work is done.
    package static func main() {
        DoorProgram.begin()
        Program.main(nil)
    }
}

struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "age-plugin-ostiary", abstract: "Keys for age that never leave Ostiary's enclave.",
        discussion: """
            age starts this program by itself, to decrypt with an identity that begins with AGE-PLUGIN-OSTIARY-1. The \
            person is asked as the key's rule says. A person uses it to make and list keys.

            Examples:
              age-plugin-ostiary --generate --name backup > backup.txt
              age --encrypt --recipient age1tag1… --output notes.age notes
              age --decrypt --identity backup.txt notes.age
            """)

    @Option(name: .customLong("age-plugin"), help: .private) var stateMachine: String?

    @Flag(help: "Make a key, and print an identity file.") var generate = false
    @Flag(help: "Print an identity file of the keys that are there.") var identity = false
    @Flag(help: "Print a recipients file of the keys that are there.") var list = false

    @Option(help: ArgumentHelp("The name of the key (default for a new one: age).", valueName: "name"))
    var name: String?
    @Option(
        help: ArgumentHelp("The rule for decrypting (default: biometry or passcode).", valueName: "rule"),
        transform: Self.rule)
    var require: PlacedRule?
    @Flag(help: "Make a key that a quantum computer does not break either: ML-KEM-768 beside P-256.")
    var postQuantum = false
    @Flag(help: "Print recipients for age before 1.3, which encrypts to them through this program.") var olderAge =
        false
    @Flag(help: "Print JSON; errors as well, on standard error.") var json = false

    private static let standardName = "age"
    private static let standardRule = "biometry or passcode"

    private static func rule(_ text: String) throws -> PlacedRule {
        do { return try PlacedRule(parsing: text) } catch { throw ValidationError("\(error)") }
    }

    func validate() throws {
        guard [stateMachine != nil, generate, identity, list].count(where: \.self) == 1 else {
            throw ValidationError("Give one of --generate, --identity and --list.")
        }
        guard generate || require == nil && !postQuantum else {
            throw ValidationError("--require and --post-quantum are for a new key: --generate.")
        }
        guard list || !olderAge else { throw ValidationError("--older-age goes with --list.") }
        guard let name else { return }
        guard 1...WireLimits.identifierByteCount ~= name.utf8.count,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw ValidationError(
                "A name has 1 to \(WireLimits.identifierByteCount) bytes, and no control characters.")
        }
    }

    func run() throws {
        do {
            if let stateMachine {
                try AgePlugin.run(try AgePlugin.machine(named: stateMachine), on: StandardStream())
            } else {
                try printKeys(generate ? [made()] : found())
            }
        } catch {
            throw ExitCode(
                DoorReport.failed(DoorFailure(any: error), program: "age-plugin-ostiary", json: json).rawValue)
        }
    }

    private func made() throws -> AgeKey {
        let rule = try require ?? PlacedRule(parsing: Self.standardRule)
        let limits = rule.isAtTrustedPlace ? try GrantLimits(isAtTrustedPlace: true) : nil
        return try AgeKeys().generate(
            name ?? Self.standardName, postQuantum ? .hybrid : .p256, try Requirement(rule.rule), limits)
    }

    private func found() throws -> [AgeKey] {
        let keys = try AgeKeys().list().filter { name == nil || $0.name == name }
        guard keys.isEmpty else { return keys }
        throw DoorFailure(
            -181, FailureClass("ageKeyNotFound", .failed),
            "There is no such key. `age-plugin-ostiary --generate` makes one, and --list shows all.")
    }

    private func printKeys(_ keys: [AgeKey]) throws {
        let documents = keys.map(AgeKeyDocument.init)
        guard !json else { return print(try Self.jsonText(KeysDocument(keys: documents))) }
        print(
            documents.map { list ? $0.recipientLines(forOlderAge: olderAge) : $0.identityFile }.joined(separator: "\n"))
    }

    /// `--json`.
    private struct KeysDocument: Encodable {
        let keys: [AgeKeyDocument]
    }

    private static func jsonText(_ document: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}
