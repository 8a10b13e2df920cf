import CFIDO2
import Glibc
import SecretBuffers
import SecurityKeyProtocol
import Synchronization

/// A code of libfido2 other than success.
struct FIDOError: Error {
    let code: CInt

    static func check(_ code: CInt) throws {
        guard code == FIDO_OK else { throw FIDOError(code: code) }
    }

    static let internalFault = FIDOError(code: FIDO_ERR_INTERNAL)
}

/// The key, through libfido2.
///
/// SAFETY: (@unchecked) requests come one at a time, on one thread; a cancel from another thread only writes a report, and
/// reads fields that are set once the device is open.
final class KeyDevice: @unchecked Sendable {
    private let handle: OpaquePointer?
    private let road: SecurityKeyRoad
    private var isOpen = false
    private(set) var info: KeyInfo?
    private let isCancelled = Atomic<Bool>(false)

    /// How long the key may take to describe itself.
    private static let openingMilliseconds: CInt = 10_000
    /// How long a request may take; the daemon ends requests earlier.
    private static let requestMilliseconds: CInt = 600_000

    init(_ road: SecurityKeyRoad) {
        self.road = road
        handle = fido_dev_new()
        var functions = DeviceReports.functions
        fido_dev_set_io_functions(handle, &functions)
        guard road == .nfc else { return }
        var transport = CardMessages.functions
        fido_dev_set_transport_functions(handle, &transport)
    }

    /// To be called before a request is handed over, by the thread that may cancel it.
    func prepare() {
        isCancelled.store(false, ordering: .releasing)
        DeviceReports.isEnded.store(false, ordering: .relaxed)
        CardMessages.isCancelled.store(false, ordering: .releasing)
    }

    /// Ends the request that was handed over, even if it has not begun.
    ///
    /// - Parameter isBusy: whether it still runs.
    func cancel(while isBusy: () -> Bool) {
        guard isBusy() else { return }
        isCancelled.store(true, ordering: .releasing)
        guard isFIDO2 else { return DeviceReports.isEnded.store(true, ordering: .relaxed) }
        // A key forgets a cancel that comes between two commands of a request.
        for _ in 0..<5 where isBusy() {
            fido_dev_cancel(handle)
            usleep(100_000)
        }
    }

    func answer(_ request: KeyRequest, secret: borrowing SecretBytes) -> SecurityKeyFrame {
        do {
            try open()
            guard !isCancelled.load(ordering: .acquiring) else { throw FIDOError(code: FIDO_ERR_KEEPALIVE_CANCEL) }
            return try perform(request, secret)
        } catch {
            let code = (error as? FIDOError)?.code ?? FIDO_ERR_INTERNAL
            let isGone = DeviceReports.isGone.load(ordering: .relaxed)
            let isEnded = isCancelled.load(ordering: .acquiring)
            return SecurityKeyFrame(
                KeyReport.failed(KeyFailure(code: isEnded ? FIDO_ERR_KEEPALIVE_CANCEL : code, isGone: isGone)).bytes)
        }
    }

    private func perform(_ request: KeyRequest, _ secret: borrowing SecretBytes) throws -> SecurityKeyFrame {
        switch request {
        case .describe: return SecurityKeyFrame(KeyReport.description(try describe()).bytes)
        case .select:
            try waitForTouch()
            return SecurityKeyFrame(KeyReport.touched.bytes)
        case .create(let creation):
            let made = try CredentialMaking(creation, on: self).run(pin: secret)
            return SecurityKeyFrame(KeyReport.created(made).bytes)
        case .assert(let assertion): return try CredentialUse(assertion, on: self).run(pin: secret)
        case .setPIN:
            try CPIN(secret).lend { try FIDOError.check(fido_dev_set_pin(handle, $0, nil)) }
            return SecurityKeyFrame(KeyReport.done.bytes)
        case .changePIN(let count):
            guard count <= secret.count else { throw FIDOError.internalFault }
            let current = CPIN(secret, 0..<Int(count))
            let new = CPIN(secret, Int(count)..<secret.count)
            try current.lend { current in
                try new.lend { new in try FIDOError.check(fido_dev_set_pin(handle, new, current)) }
            }
            return SecurityKeyFrame(KeyReport.done.bytes)
        case .cancel: throw FIDOError.internalFault
        }
    }

    private func open() throws {
        guard !isOpen else { return }
        try FIDOError.check(fido_dev_set_timeout(handle, Self.openingMilliseconds))
        try FIDOError.check(fido_dev_open(handle, ""))
        // libfido2 takes a key that gives no description for one of FIDO U2F.
        guard road == .usb || !CardMessages.shared.isBroken else { throw FIDOError(code: FIDO_ERR_RX) }
        if isFIDO2 { info = try KeyInfo(of: handle) }
        try FIDOError.check(fido_dev_set_timeout(handle, Self.requestMilliseconds))
        isOpen = true
    }

    var isFIDO2: Bool { fido_dev_is_fido2(handle) }

    private func describe() throws -> KeyDescription {
        guard isFIDO2 else {
            var description = KeyDescription()
            description.algorithms = [COSE_ES256]
            return description
        }
        // A PIN may have been set since.
        info = try KeyInfo(of: handle)
        guard var description = info?.description else { throw FIDOError.internalFault }
        if description.features.contains(.hasPIN) { description.pinTries = tries(fido_dev_get_retry_count) }
        if description.features.contains(.verifiesUser) {
            description.verificationTries = tries(fido_dev_get_uv_retry_count)
        }
        return description
    }

    private func tries(_ ask: (OpaquePointer?, UnsafeMutablePointer<CInt>?) -> CInt) -> UInt8? {
        var count: CInt = 0
        guard ask(handle, &count) == FIDO_OK else { return nil }
        return UInt8(exactly: count)
    }

    /// How long one look at the key lasts.
    private static let touchMilliseconds: CInt = 200

    private func waitForTouch() throws {
        try FIDOError.check(fido_dev_get_touch_begin(handle))
        var touched: CInt = 0
        while touched == 0 {
            try FIDOError.check(fido_dev_get_touch_status(handle, &touched, Self.touchMilliseconds))
            let isOver = road == .nfc && touched == 0 && !CardMessages.shared.isAnswerDue
            guard !isOver, !DeviceReports.isGone.load(ordering: .relaxed) else { throw FIDOError(code: FIDO_ERR_RX) }
            if isCancelled.load(ordering: .acquiring), !isFIDO2 { throw FIDOError(code: FIDO_ERR_KEEPALIVE_CANCEL) }
        }
    }

    // MARK: for the requests

    func make(_ credential: OpaquePointer?, _ pin: UnsafePointer<CChar>?) throws {
        try FIDOError.check(fido_dev_make_cred(handle, credential, pin))
    }

    func use(_ assertion: OpaquePointer?, _ pin: UnsafePointer<CChar>?) -> CInt {
        fido_dev_get_assert(handle, assertion, pin)
    }

    /// The large blob below a key; nil when there is none, or when it cannot be read.
    func largeBlob(below key: UnsafePointer<UInt8>, _ count: Int) -> [UInt8]? {
        var (bytes, byteCount): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
        guard fido_dev_largeblob_get(handle, key, count, &bytes, &byteCount) == FIDO_OK, let bytes else { return nil }
        defer { free(bytes) }
        guard byteCount <= SecurityKeyLimits.largeBlobByteCount else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: byteCount))
    }

    func write(
        _ blob: [UInt8], below key: UnsafePointer<UInt8>, _ count: Int, _ pin: UnsafePointer<CChar>?
    ) -> Bool {
        fido_dev_largeblob_set(handle, key, count, blob, blob.count, pin) == FIDO_OK
    }
}

/// A PIN as libfido2 takes it: with a zero byte at its end, in memory that is wiped.
struct CPIN: ~Copyable {
    /// Empty for no PIN.
    private let bytes: SecretBytes

    /// - Parameter range: where the PIN lies; nil for all of `secret`. An empty one is no PIN.
    init(_ secret: borrowing SecretBytes, _ range: Range<Int>? = nil) {
        let range = range ?? 0..<secret.count
        guard !range.isEmpty else {
            bytes = SecretBytes(zeroed: 0)
            return
        }
        var copy = SecretBytes(zeroed: range.count + 1)
        secret.withUnsafeBytes { source in
            copy.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[range])) }
        }
        bytes = copy
    }

    borrowing func lend<Result>(_ body: (UnsafePointer<CChar>?) throws -> Result) throws -> Result {
        guard !bytes.isEmpty else { return try body(nil) }
        return try bytes.withUnsafeBytes { try body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }
}
