import AuthenticatorRequests
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
    private var turns: KeyTurns?

    /// Nil when another question uses the key.
    init?(
        _ port: SecurityKeyPort, program: String, ports: any SecurityKeyPorts, turns: KeyTurns
    ) throws(SystemCallError) {
        self.port = port
        name = DisplayText(port.name, maximumScalarCount: 64).string
        guard turns.take(port) else { return nil }
        do {
            process = try KeyProcess(program, device: try ports.open(port), road: port.road)
        } catch {
            turns.giveBack(port)
            throw error
        }
        self.turns = turns
        _ = send(.describe)
    }

    deinit { end() }

    var descriptor: CInt { process?.descriptor ?? -1 }

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

    /// Kills the helper, and lets the key go.
    func end() {
        process.take()?.end()
        turns.take()?.giveBack(port)
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
