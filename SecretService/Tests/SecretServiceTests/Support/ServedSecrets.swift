import DaemonTestSupport
import Foundation
import MessageBus
import SecretItems
import SecretMemory
import SecretProgramSupport
import Synchronization

@testable import SecretService

/// The service on a bus of the test's own, in front of a played store.
final class ServedSecrets {
    let bus: TestBus
    let store = PlayedStore()
    let service: SecretService
    private let notes = Notes()

    final class Notes: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    final class Endings: Sendable {
        private let ends = Mutex<[ServiceEnd]>([])
        var all: [ServiceEnd] { ends.withLock { $0 } }
        func add(_ end: ServiceEnd) { ends.withLock { $0.append(end) } }
    }

    let endings = Endings()
    var noted: [String] { notes.all }

    init(isOpen: Bool = true, on bus: TestBus? = nil) throws {
        self.bus = try bus ?? TestBus()
        store.setOpen(isOpen)
        let (notes, endings) = (notes, endings)
        service = SecretService(store, now: { 42 }, note: { notes.add($0) })
        try service.start(on: .address(self.bus.address)) { endings.add($0) }
    }

    deinit { service.close() }

    func program() throws -> SecretProgram { try SecretProgram(bus.address) }

    /// An item in `login`, as a former run left it.
    func add(
        _ label: String, _ attributes: [String: String], _ secret: String, isRuled: Bool = false,
        in collection: String = "login"
    ) -> (id: SecretID, path: String) {
        let id = store.add(
            NewSecret(
                collection: collection, label: label, contentType: "text/plain", attributes: attributes,
                rule: isRuled ? "passcode" : nil, secret: Self.held(secret)))
        return (id, "\(SecretProgram.root)/collection/\(collection)/\(id)")
    }

    static func held(_ text: String) -> HeldSecret { HeldSecret(SecretBytes(Data(text.utf8))) }
}
