public import Cancellations
import Glibc
package import HelperProcesses
public import PAMProtocol
public import PromptProtocol

/// Recognises a user through a PAM service, for example by the face.
///
/// Each attempt runs in a process of its own, `ostiary-pam`, which ends with the attempt. The service's module runs there with
/// the user's rights, so its word proves nothing to anybody who can change what the user runs.
public final class PAMRecognizer: Sendable {
    /// How `ostiary-pam` is reached.
    package let helper: HelperRoad
    private let service: String
    private let user: String?
    private let systemBus: String
    private let folder: String
    private let trustedUserID: UInt32
    private let limits: PAMLimits

    /// - Parameters:
    ///   - helper: how `ostiary-pam` is reached.
    ///   - service: the name of the PAM service.
    ///   - user: the user to recognise; nil for the user of this process.
    ///   - systemBus: the socket of the system bus, for modules that use a service on it.
    ///   - folder: the folder of service files.
    ///   - trustedUserID: the user to whom the service file must belong; root, except in tests.
    package convenience init(
        _ helper: HelperRoad, service: String, user: String?, systemBus: String,
        folder: String = PAMServiceFile.standardFolder, trustedUserID: UInt32 = 0
    ) {
        self.init(
            helper, service: service, user: user, systemBus: systemBus, folder: folder, trustedUserID: trustedUserID,
            limits: PAMLimits())
    }

    init(
        _ helper: HelperRoad, service: String, user: String?, systemBus: String, folder: String, trustedUserID: UInt32,
        limits: PAMLimits
    ) {
        self.helper = helper
        self.service = service
        self.user = user
        self.systemBus = systemBus
        self.folder = folder
        self.trustedUserID = trustedUserID
        self.limits = limits
    }

    /// The service as its file describes it now. Starts nothing. Only an attempt shows whether the module works, and whether it
    /// knows the user.
    ///
    /// - Throws: ``PAMFailure/service(_:)`` when the file cannot be used.
    public func serviceFile() throws(PAMFailure) -> PAMServiceFile {
        do throws(PAMServiceDistrust) {
            return try PAMServiceFile(of: service, in: folder, trustedUserID: trustedUserID)
        } catch { throw .service(error) }
    }

    /// Makes one attempt, and blocks until the module has decided. The helper has ended when this returns, or the daemon has
    /// waited for its end as long as ``HelperProcessLimits/end``: a process that the kernel holds may still have the camera.
    ///
    /// Cameras are switched on by this call, so call it only while the person sees what for.
    ///
    /// - Parameters:
    ///   - stop: ends the attempt at once. It is no failed try.
    ///   - report: tells the person what the module says, on this thread.
    /// - Throws: when the module has decided nothing. ``PAMFailure/stopped`` when the attempt was cancelled, even if the module
    ///   had recognised the person by then.
    public func recognize(
        until stop: PollableCancellation, _ report: (PAMText) -> Void
    ) throws(PAMFailure) -> PAMRecognition {
        guard !stop.isCancelled else { throw .stopped }
        try verifyUser()
        _ = try serviceFile()
        let request = PAMRequest(service: service, folder: folder, user: user, trustedUserID: trustedUserID)
        let process = try PAMProcess(helper, systemBus: systemBus, request, until: stop)
        let end = Self.outcome(of: process, until: stop, within: limits, report)
        process.end()
        return try end.get()
    }

    /// A request without a name means the user of this process, but the helper takes it for one about the helper's own user.
    private func verifyUser() throws(PAMFailure) {
        if user == nil, case .activated(let socket) = helper, socket.helperUserID != geteuid() { throw .otherUser }
    }

    private static func outcome(
        of process: borrowing PAMProcess, until stop: PollableCancellation, within limits: PAMLimits,
        _ report: (PAMText) -> Void
    ) -> Result<PAMRecognition, PAMFailure> {
        do throws(PAMFailure) {
            let deadline = ContinuousClock.now.advanced(by: limits.attempt)
            for _ in 0...limits.textCount {
                switch try process.nextReport(until: deadline, stop) {
                case .info(let text): report(PAMText(text: text, isError: false))
                case .error(let text): report(PAMText(text: text, isError: true))
                case .result(let result): return .success(try PAMRecognition(result))
                }
            }
            throw .unexpected
        } catch { return .failure(error) }
    }
}

/// Something that a module tells the person.
public struct PAMText: Equatable, Sendable {
    public let text: DisplayText
    /// Whether the module calls it an error. It is no result, and no failed try.
    public let isError: Bool
}

/// What a module decided.
public enum PAMRecognition: Equatable, Sendable {
    /// It is the user.
    case recognized
    /// It is somebody else, or nobody could be recognised: a failed try.
    case notRecognized

    fileprivate init(_ result: PAMResult) throws(PAMFailure) {
        switch result {
        case .recognized: self = .recognized
        case .notRecognized: self = .notRecognized
        case .asked: throw .asked
        case .userUnknown: throw .userUnknown
        case .moduleUnusable: throw .moduleUnusable
        case .unavailable: throw .unavailable
        // The same check has just passed here, so the file was changed meanwhile.
        case .serviceRefused: throw .serviceChanged
        case .badRequest: throw .unexpected
        case .otherUser: throw .otherUser
        }
    }
}

/// Why a module decided nothing.
public enum PAMFailure: Error, Equatable, Sendable {
    /// The service file cannot be used.
    case service(PAMServiceDistrust)
    /// The service file was changed while the attempt began.
    case serviceChanged
    /// `ostiary-pam` cannot be started or reached, and why; nil when it is not installed.
    case withoutHelper(reason: String?)
    /// `ostiary-pam` ended without a result: its module crashed, or it was killed.
    case helperEnded
    /// The module asked for something to be typed.
    case asked
    /// The module does not know the user.
    case userUnknown
    /// `ostiary-pam` runs as another user, who is not root, or as another one than the request means.
    case otherUser
    /// The module is missing or cannot be loaded.
    case moduleUnusable
    /// The module could not decide, for example without a camera.
    case unavailable
    /// The module did not decide in time.
    case timedOut
    /// The attempt was cancelled.
    case stopped
    /// `ostiary-pam` sent something that is no report, or too much.
    case unexpected
}

/// What an attempt may cost.
struct PAMLimits: Sendable {
    /// The time for an attempt. Modules have shorter limits of their own: Howdy 4 seconds, pam_fprintd 30.
    var attempt: Duration = .seconds(60)
    /// The most texts of one attempt.
    var textCount = 200
}
