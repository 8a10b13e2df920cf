public import Cancellations
import MessageBus

/// The fingerprint readers of this machine, through fprintd on the system bus.
///
/// Every call makes a connection to the bus and starts fprintd if it does not run. No connection stays open, so nothing
/// wakes this process between calls. All calls block; none asks a person for anything.
public final class FingerprintReader: Sendable {
    private let socketPath: String
    private let serviceUserID: UInt32
    private let limits: ReaderLimits

    /// - Parameters:
    ///   - socketPath: the socket of the system bus.
    ///   - serviceUserID: the user who must run fprintd; root, except in tests.
    public convenience init(socketPath: String, serviceUserID: UInt32 = 0) {
        self.init(socketPath: socketPath, serviceUserID: serviceUserID, limits: ReaderLimits())
    }

    init(socketPath: String, serviceUserID: UInt32, limits: ReaderLimits) {
        self.socketPath = socketPath
        self.serviceUserID = serviceUserID
        self.limits = limits
    }

    /// The connected readers. Claims none of them.
    public func readers(until stop: PollableCancellation? = nil) throws(ReaderFailure) -> [ReaderDescription] {
        let connection = try connect(stop)
        var readers: [ReaderDescription] = []
        for path in try connection.readers() { readers.append(try connection.description(of: path)) }
        return readers
    }

    /// Whether a user's fingers can be verified now. Claims nothing and arms nothing.
    ///
    /// - Parameter user: a user's name; nil for the user of this process. For other users, this process needs polkit's
    ///   permission.
    public func state(for user: String? = nil, until stop: PollableCancellation? = nil) -> ReaderState {
        do throws(ReaderFailure) {
            let connection = try connect(stop, limits.looking)
            let path = try connection.defaultReader()
            let reader = try connection.description(of: path)
            let fingers = try connection.enrolledFingers(at: path, of: user)
            return fingers.isEmpty ? .nothingEnrolled(reader) : .ready(reader, fingers)
        } catch { return .unusable(Self.failure(error, for: user)) }
    }

    /// Who names a user asks for a right of the machine's daemon, and not for the one of an active session.
    private static func failure(_ failure: ReaderFailure, for user: String?) -> ReaderFailure {
        failure == .denied && user != nil ? .deniedForOthers : failure
    }

    /// Claims the default reader for a user, lends it to `body`, and releases it in every case.
    ///
    /// Meanwhile, no other program can use the reader.
    ///
    /// - Parameters:
    ///   - path: another reader instead of the default one: ``ReaderDescription/path``.
    ///   - stop: ends every wait in this call.
    public func withClaim<Result>(
        for user: String? = nil, of path: String? = nil, until stop: PollableCancellation,
        _ body: (borrowing ClaimedReader) throws(ReaderFailure) -> Result
    ) throws(ReaderFailure) -> Result {
        let connection = try connect(stop)
        let reader: String
        if let path { reader = path } else { reader = try connection.defaultReader() }
        let claimed: ClaimedReader
        do throws(ReaderFailure) { claimed = try ClaimedReader(reader, for: user, through: connection) } catch {
            throw Self.failure(error, for: user)
        }
        do throws(ReaderFailure) {
            let result = try body(claimed)
            claimed.release()
            return result
        } catch {
            claimed.release()
            if error == .readerFault, try connection.loses(reader) { throw .disconnected }
            throw Self.failure(error, for: user)
        }
    }

    private func connect(
        _ stop: PollableCancellation?, _ limits: ReaderLimits? = nil
    ) throws(ReaderFailure) -> ReaderConnection {
        try ReaderConnection(
            socketPath: socketPath, serviceUserID: serviceUserID, stop: stop, limits: limits ?? self.limits)
    }
}

extension ReaderConnection {
    /// The objects of the connected readers.
    fileprivate func readers() throws(ReaderFailure) -> [String] {
        let answer = try call(FprintName.managerPath, FprintName.manager, "GetDevices")
        var paths: [String] = []
        try read { () throws(BusError) in
            try answer.readArray(of: "o") { () throws(BusError) in paths.append(try answer.readText(.objectPath)) }
        }
        return paths
    }

    fileprivate func defaultReader() throws(ReaderFailure) -> String {
        let answer = try call(FprintName.managerPath, FprintName.manager, "GetDefaultDevice")
        return try read { () throws(BusError) in try answer.readText(.objectPath) }
    }

    /// Whether a failed reader has been unplugged. fprintd does not say so. It forgets the reader only a moment after
    /// its release.
    fileprivate func loses(_ path: String) throws(ReaderFailure) -> Bool {
        let deadline = ContinuousClock.now.advanced(by: limits.forgetting)
        while ContinuousClock.now < deadline {
            guard try readers().contains(path) else { return true }
            _ = try nextSignal(of: path, until: .now.advanced(by: limits.forgetting / 10))
        }
        return false
    }

    fileprivate func description(of path: String) throws(ReaderFailure) -> ReaderDescription {
        let name = try textProperty("name", of: path)
        let scanType = try textProperty("scan-type", of: path)
        return ReaderDescription(path: path, name: name, scanType: ReaderDescription.ScanType(rawValue: scanType))
    }

    private func textProperty(_ name: String, of path: String) throws(ReaderFailure) -> String {
        let answer = try call(path, FprintName.properties, "Get", FprintName.device, name)
        return try read { () throws(BusError) in try answer.enter(.variant, "s") ? answer.readText() : "" }
    }

    fileprivate func enrolledFingers(at path: String, of user: String?) throws(ReaderFailure) -> [Finger] {
        do throws(ReaderFailure) {
            let answer = try call(path, FprintName.device, "ListEnrolledFingers", user ?? FprintName.callingUser)
            var names: [String] = []
            try read { () throws(BusError) in
                try answer.readArray(of: "s") { () throws(BusError) in names.append(try answer.readText()) }
            }
            let fingers = names.compactMap(Finger.init(rawValue:))
            guard fingers.count == names.count else { throw .unexpected("a finger without a known name") }
            return fingers
        } catch {
            guard error == .nothingEnrolled else { throw error }
            return []
        }
    }
}
