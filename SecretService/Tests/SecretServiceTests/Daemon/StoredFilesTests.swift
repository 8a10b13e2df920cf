import DaemonTestSupport
import Foundation
import IndependentTools
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// What the store's files say about items: nothing, neither as it is nor as a digest that somebody could guess it by.
    @Suite("The store's files, end to end") struct StoredFiles {
        private static let (name, value) = ("name-of-mine", "value-of-mine")
        private static let texts = [
            name, value, "label-of-mine", "secret-of-mine", "former-secret", "type-of-mine", "collection-of-mine",
            "removed-label", "removed-value", "removed-secret",
        ]

        /// Items and a collection of which the files tell nothing, with changes and removals.
        private func fill(_ stage: SecretsStage) throws {
            let program = try stage.connect()
            let session = try program.openSession()
            let item = try program.create(
                "label-of-mine", [Self.name: Self.value], "former-secret", session: session)
            let parcel = SecretProgram.parcel("secret-of-mine", session: session, contentType: "type-of-mine")
            _ = try program.call(item, "Item", "SetSecret", [parcel])
            let properties = BusDatum.properties([
                "org.freedesktop.Secret.Collection.Label": .text("collection-of-mine")
            ])
            _ = try program.call(SecretProgram.root, "Service", "CreateCollection", [properties, .text("")])
            let removed = try program.create(
                "removed-label", [Self.name: "removed-value"], "removed-secret", session: session)
            _ = try program.call(removed, "Item", "Delete")
            #expect(try program.search([Self.name: Self.value]).unlocked == [item])
            #expect(try program.secret(item, session: session) == "secret-of-mine")
        }

        @Test func `show no attribute, label, type or secret while the daemon runs, and after its end`() throws {
            let stage = try SecretsStage()
            try stage.daemon.unlock()
            let traces = try Traces(of: Self.texts + ["\(Self.name)=\(Self.value)", "\(Self.name)\0\(Self.value)"])
            let state = stage.daemon.stateDirectory
            try fill(stage)
            #expect(try traces.found(below: state) == [], "while it runs")
            stage.daemon.kill()
            #expect(try traces.found(below: state) == [], "after it was killed")
            try stage.daemon.start()
            try stage.daemon.unlock()
            #expect(try stage.connect().search([Self.name: Self.value]).unlocked.count == 1)
            #expect(try traces.found(below: state) == [], "while it runs again")
            try stage.endDaemon()
            #expect(try traces.found(below: state) == [], "after its journal was put away")
            #expect(try Traces(of: ["SQLite format 3"]).found(below: state).count == 1, "the files were searched")
        }

        @Test func `a search for traces finds texts and each digest, as they are and in digits`() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("traces-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("inner"), withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let traces = try Traces(of: ["value-of-mine"])
            let file = folder.appendingPathComponent("inner/file")
            for (number, pattern) in traces.patterns.enumerated() {
                try (Data([7]) + pattern.bytes + Data([7])).write(to: file)
                #expect(try traces.found(below: folder.path).contains(pattern.description), "\(number)")
            }
            let digest = try IndependentTool.run("openssl", ["dgst", "-md5", "-r"], input: Data("value-of-mine".utf8))
            try digest.output.write(to: file)
            #expect(try traces.found(below: folder.path) == ["md5 of value-of-mine, in digits"])
            try Data("value-of-yours".utf8).write(to: file)
            #expect(try traces.found(below: folder.path) == [])
        }
    }
}

/// What would betray texts in files: the texts themselves, and their bare digests. Eight bytes of a digest are enough: an index may keep
/// no more.
private struct Traces {
    struct Pattern {
        let description: String
        let bytes: Data
    }

    let patterns: [Pattern]
    /// The same by their first two bytes: each file is gone through once.
    private let byBeginning: [[Pattern]]

    private struct Digests: Decodable {
        let text: String
        /// By the names of their functions, in digits.
        let digests: [String: String]
    }

    init(of texts: [String]) throws {
        let script = """
            import hashlib
            names = ["md5", "sha1", "sha256", "sha512"]
            print(json.dumps([{"text": text, "digests": {name: hashlib.new(name, text.encode()).hexdigest() for name in names}}
                              for text in cases]))
            """
        let patterns = try IndependentTool.python(script, texts, returning: [Digests].self).flatMap { entry in
            let text = Data(entry.text.utf8)
            let own = [
                Pattern(description: entry.text, bytes: text),
                Pattern(description: "\(entry.text), in digits", bytes: Data(Self.digits(text).utf8)),
                Pattern(description: "\(entry.text), in base 64", bytes: Data(text.base64EncodedString().utf8)),
            ]
            return try own
                + entry.digests.sorted { $0.key < $1.key }.flatMap { name, digits in
                    let digits = String(digits.prefix(16))
                    return [
                        Pattern(description: "\(name) of \(entry.text)", bytes: try Self.bytes(digits)),
                        Pattern(description: "\(name) of \(entry.text), in digits", bytes: Data(digits.utf8)),
                        Pattern(
                            description: "\(name) of \(entry.text), in capital digits",
                            bytes: Data(digits.uppercased().utf8)),
                    ]
                }
        }
        var byBeginning: [[Pattern]] = Array(repeating: [], count: 1 << 16)
        for pattern in patterns {
            byBeginning[Int(pattern.bytes[0]) << 8 | Int(pattern.bytes[1])].append(pattern)
        }
        (self.patterns, self.byBeginning) = (patterns, byBeginning)
    }

    private static func digits(_ bytes: Data) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    private static func bytes(_ digits: String) throws -> Data {
        Data(
            try stride(from: 0, to: digits.count, by: 2).map { place in
                try #require(UInt8(digits.dropFirst(place).prefix(2), radix: 16))
            })
    }

    /// The traces in all files below a folder, in the order of their names.
    func found(below folder: String) throws -> [String] {
        var found: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(name)"
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            find(in: try Data(contentsOf: URL(fileURLWithPath: path)), &found)
        }
        return found.sorted()
    }

    private func find(in contents: Data, _ found: inout Set<String>) {
        contents.withUnsafeBytes { bytes in
            for index in bytes.indices.dropLast() {
                for pattern in byBeginning[Int(bytes[index]) << 8 | Int(bytes[index + 1])]
                where bytes[index...].starts(with: pattern.bytes) { found.insert(pattern.description) }
            }
        }
    }
}
