import AuthenticatorRequests
import Glibc
import HelperProcesses
import PromptProtocol
import SecretMemory
import SecurityKeyProtocol
import UnixSocket

/// A key that takes part, with its helper. Belongs to one thread.
final class PluggedKey {
    /// The state of the key.
    enum State {
        /// It describes itself.
        case describing(Then)
        /// It has described itself, and nothing is decided.
        case described
        /// It waits for a touch that chooses it; then this follows.
        case selecting(Next)
        /// It works on the request, which ends with a touch.
        case working
        /// It gets its first PIN, or a new one in place of its present one. It then works on the request with the new PIN.
        case settingPIN(KeyPIN, replacing: KeyPIN?)
        /// It was cancelled, and has not said so yet.
        case cancelled
        /// It takes no part any more.
        case out
    }

    /// The step after a description.
    enum Then {
        case decide
        case askForPIN(wasWrong: Bool)
        case verifyAgain
    }

    /// The step after the touch that chooses a key.
    enum Next {
        case askForPIN, setFirstPIN
        case refuse(CredentialRefusal)
    }

    let port: SecurityKeyPort
    let name: String
    var state = State.describing(.decide)
    /// The beginning of its latest description.
    private(set) var describingSince = ContinuousClock.now
    var description = KeyDescription() {
        didSet { if description.transports.isEmpty { description.transports = [port.road.transport] } }
    }
    /// Whether the person has chosen it, by a touch or because it is the only one.
    var isChosen = false
    /// The PIN of its present request.
    var pin: KeyPIN?
    /// Whether it had no credential for the request of its plan, and got the other one.
    var isAskedOtherwise = false
    /// Whether the person insisted on the last try of its PIN.
    var insists = false
    private var process: KeyProcess?
    /// The helper once it was told to end.
    private var ending: EndingHelper?
    private var turns: KeyTurns?

    /// Nil when another question uses the key.
    ///
    /// - Parameters:
    ///   - userID: the user whose key it must be; nil for the user of this process.
    ///   - stop: a descriptor that ends the wait for the helper when it is readable.
    init?(
        _ port: SecurityKeyPort, of userID: UInt32?, helper: HelperRoad, ports: any SecurityKeyPorts, turns: KeyTurns,
        stoppedBy stop: CInt
    ) throws(KeyStartFailure) {
        self.port = port
        name = DisplayText(port.name, maximumScalarCount: 64).string
        guard turns.take(port) else { return nil }
        process = try Self.start(helper, port, of: userID, ports, stoppedBy: stop) { turns.giveBack(port) }
        self.turns = turns
        _ = send(.describe)
    }

    /// - Parameter gone: called once if this throws, when nothing has the key any more.
    private static func start(
        _ helper: HelperRoad, _ port: SecurityKeyPort, of userID: UInt32?, _ ports: any SecurityKeyPorts,
        stoppedBy stop: CInt, orElse gone: @escaping @Sendable () -> Void
    ) throws(KeyStartFailure) -> KeyProcess {
        let place: KeyPlace
        do throws(SystemCallError) { place = try ports.place(of: port, for: userID) } catch {
            gone()
            throw .key(error)
        }
        switch consume place {
        case .opened(let device):
            do throws(HelperUnavailability) {
                return try KeyProcess(helper, device: device, over: port.road, stoppedBy: stop)
            } catch {
                gone()
                throw .helper(error)
            }
        case .named(let opening): return try KeyProcess(helper, opening: opening, stoppedBy: stop, orElse: gone)
        }
    }

    deinit { end() }

    var descriptor: CInt { process?.descriptor ?? -1 }

    /// Whether an answer of its helper, or the helper's end, was not looked at yet.
    var hasSaidSomething: Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, 0) > 0
    }

    /// Whether its helper still works on a request.
    var isBusy: Bool {
        switch state {
        case .describing, .selecting, .working, .settingPIN, .cancelled: true
        case .described, .out: false
        }
    }

    /// Sends a request; a helper that has ended is noticed when its answer is read.
    @discardableResult
    func send(_ request: KeyRequest, pin: KeyPIN? = nil) -> Bool {
        guard let secret = pin?.copy() else { return process?.send(request) ?? false }
        return process?.send(request, secret: secret) ?? false
    }

    /// Asks for its abilities.
    func describe(then: Then) {
        state = .describing(then)
        describingSince = .now
        send(.describe)
    }

    func receive() -> KeyAnswer? { process?.receive() ?? nil }

    /// Ends the helper. The key is free for another question once the helper is gone, and not before.
    func end() {
        beginEnd()
        finishEnd(by: .now.advanced(by: HelperProcessLimits.end))
    }

    /// The first half of ``end()``, which waits for nothing.
    func beginEnd() {
        guard let process = process.take() else { return }
        ending = process.beginEnd()
    }

    /// The second half: returns once the helper is gone, or at `deadline`.
    func finishEnd(by deadline: ContinuousClock.Instant) {
        guard let ending = ending.take(), let turns = turns.take() else { return }
        ending.finish(by: deadline) { [port] in turns.giveBack(port) }
    }
}

/// Why a key takes no part.
enum KeyStartFailure: Error, CustomStringConvertible {
    /// The key cannot be opened.
    case key(SystemCallError)
    case helper(HelperUnavailability)
    /// The helper was to open the key, and did not. The code is a number of errno(3).
    case refusedByHelper(HIDRawName, code: Int32)

    var description: String {
        switch self {
        case .key(let error): "\(error)"
        case .helper(let error): "\(error)"
        case .refusedByHelper(let name, code: KeyOpeningAnswer.forbiddenToHelper):
            "ostiary-fido may not open /dev/\(name.text): udev did not give it to the group ostiary-fido (72-ostiary-fido.rules)"
        case .refusedByHelper(let name, code: KeyOpeningAnswer.forbiddenToUser):
            "/dev/\(name.text) is not, or no longer, this user's"
        case .refusedByHelper(let name, code: KeyOpeningAnswer.noSecurityKey): "/dev/\(name.text) is no security key"
        case .refusedByHelper(let name, code: let code):
            "\(SystemCallError("open", subject: "/dev/" + name.text, code: code))"
        }
    }

    /// Whether the same key may be opened a moment later: udev gives a device to the person a moment after the kernel shows it.
    var mayPass: Bool {
        switch self {
        case .key(let error): error.call == "open"
        case .helper: false
        case .refusedByHelper(_, code: let code): code != KeyOpeningAnswer.noSecurityKey
        }
    }
}

/// A typed PIN, kept for its request.
final class KeyPIN: Sendable {
    private let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    var byteCount: Int { bytes.count }

    func copy() -> SecretBytes { SecretBytes(copying: bytes) }

    /// This PIN, and behind it another.
    func joined(with new: KeyPIN) -> KeyPIN { KeyPIN(SecretBytes(joining: bytes, new.bytes)) }

    /// Whether a key would look at it (CTAP 2.1, 6.5.1): at least four characters, at most 63 bytes, no zero byte.
    var isWellFormed: Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard bytes.count <= SecurityKeyLimits.pinByteCount, unsafe !bytes.contains(0) else { return false }
            // Each character has one byte that does not continue another.
            return unsafe bytes.count(where: { $0 & 0xC0 != 0x80 }) >= SecurityKeyLimits.pinCharacterCount
        }
    }
}
