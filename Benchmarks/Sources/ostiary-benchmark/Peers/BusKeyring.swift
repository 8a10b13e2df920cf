import ArgumentParser
import CKeyringBus

/// A program of the session that uses a Secret Service, with a connection and a session of its own.
final class BusKeyring {
    static let secretService = "org.freedesktop.secrets"

    private let keyring: OpaquePointer
    private let secret = FreeItem.secret

    /// Waits until the service is there.
    init(_ bus: SessionBus, name: String = secretService) throws {
        guard let keyring = benchmark_keyring_open(bus.address, name) else { throw Failed() }
        self.keyring = keyring
    }

    deinit { benchmark_keyring_close(keyring) }

    /// Makes an item by its number.
    func create(_ number: Int) throws {
        try Self.check(benchmark_keyring_create(keyring, FreeItem.service, FreeItem.account(number), secret))
    }

    /// The path of the only item with this number; throws when it is locked.
    func search(_ number: Int) throws -> String {
        try withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { path in
            try Self.check(
                benchmark_keyring_search(
                    keyring, FreeItem.service, FreeItem.account(number), path.baseAddress, path.count))
            return String(cString: path.baseAddress!)
        }
    }

    /// Throws unless the secret of the item at the path is what was stored.
    func get(_ path: String) throws { try Self.check(benchmark_keyring_get(keyring, path, secret)) }

    func lock() throws { try Self.check(benchmark_keyring_lock(keyring)) }

    /// Has the person asked, and returns before the answer.
    func ask() throws { try Self.check(benchmark_keyring_ask(keyring)) }

    func dismiss() throws { try Self.check(benchmark_keyring_dismiss(keyring)) }

    private static func check(_ status: CInt) throws {
        guard status == 0 else { throw Failed() }
    }

    struct Failed: Error, CustomStringConvertible {
        var description: String { "the Secret Service did not do what it was asked for" }
    }
}

/// The floor: a service on sd-bus itself, which answers as many bytes with as many, and does nothing.
struct BusEcho: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bus-echo", shouldDisplay: false)

    static let name = "org.ostiary.benchmark.Echo"
    /// Of an item that is as long as those of the services.
    static let item = "/org/freedesktop/secrets/collection/login/00000000000000000000000000000000"

    @Argument var address: String

    func run() throws { benchmark_keyring_echo(address, Self.name, FreeItem.secret) }
}
