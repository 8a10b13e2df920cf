import CTAPHID
import Cancellations
public import OstiaryClient
import OstiaryMessages
import Synchronization

/// Carries the commands of CTAP from a HID device to the daemon, and its answers back. It decides nothing.
public final class PasskeyForwarder: Sendable {
    private let device: UHIDDevice
    private let clients: ChannelClients
    private let note: @Sendable (String) -> Void
    private let sendingFailure = Mutex<PasskeyDeviceError?>(nil)

    /// - Parameters:
    ///   - client: leads to the daemon. Each channel gets a connection of its own.
    ///   - note: is told why the daemon did not answer a command.
    public init(_ device: UHIDDevice, client: OstiaryClient, note: @escaping @Sendable (String) -> Void) {
        self.device = device
        clients = ChannelClients(of: client)
        self.note = note
    }

    /// The command authenticatorGetInfo, which asks nobody.
    private static let getInformation: [UInt8] = [0x04]

    /// Whether the daemon answers this program.
    ///
    /// - Throws: ``OstiaryClient/OstiaryError``; `missingEntitlement` for a program that is not registered as a browser.
    public static func requireAnswers(of client: OstiaryClient) throws {
        _ = try client.answer(toAuthenticatorCommand: getInformation)
    }

    /// Serves the device until it fails.
    public func run() throws(PasskeyDeviceError) -> Never {
        // What takes longer than a moment waits for the person.
        let server = HIDServer(send: { [self] in send($0) }, needsUser: { true }, respond: { [self] in answer($0, $1) })
        while true {
            if let report = try device.receive(within: HIDServer.interval) { server.receive(report) }
            server.tick()
            if let failure = sendingFailure.withLock({ $0 }) { throw failure }
        }
    }

    private func send(_ reports: [[UInt8]]) {
        do throws(PasskeyDeviceError) { try device.send(reports) } catch {
            sendingFailure.withLock { $0 = error }
        }
    }

    /// The statuses of CTAP 2.1 (8.2) for commands that the daemon did not answer.
    private enum Status: UInt8 {
        case cancelled = 0x2D
        case notAllowed = 0x30
        case other = 0x7F
    }

    private func answer(_ request: HIDRequest, _ cancellation: Cancellation) -> [UInt8] {
        let call = Cancellation()
        cancellation.whenCancelled { call.cancel() }
        do {
            return try clients[request.channel].answer(toAuthenticatorCommand: request.bytes, cancellation: call)
        } catch {
            let status = Self.status(of: error)
            if status != .cancelled { note("\(error)") }
            return [status.rawValue]
        }
    }

    private static func status(of error: any Error) -> Status {
        guard let error = error as? OstiaryError else { return .other }
        if error.isFailure(.appCancel) { return .cancelled }
        let refusals: [WireFailureCode] = [.missingEntitlement, .programChanged, .programUnverified]
        return refusals.contains(where: error.isFailure) ? .notAllowed : .other
    }
}
