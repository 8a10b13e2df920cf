public import Cancellations
public import PAMProtocol
public import PromptProtocol

/// Recognises the user of this process through a PAM service, for example by the face.
///
/// Each attempt runs in a process of its own, `ostiary-pam`, which ends with the attempt. The service's module runs there with
/// the user's rights, so its word proves nothing to anybody who can change what the user runs.
public final class PAMRecognizer: Sendable {
    private let program: String
    private let service: String
    private let systemBus: String
    private let folder: String
    private let trustedUserID: UInt32
    private let limits: PAMLimits

    /// - Parameters:
    ///   - program: the absolute path of `ostiary-pam`.
    ///   - service: the name of the PAM service.
    ///   - systemBus: the socket of the system bus, for modules that use a service on it.
    ///   - folder: the folder of service files.
    ///   - trustedUserID: the user to whom the service file must belong; root, except in tests.
    public convenience init(
        program: String, service: String, systemBus: String, folder: String = PAMServiceFile.standardFolder,
        trustedUserID: UInt32 = 0
    ) {
        self.init(
            program: program, service: service, systemBus: systemBus, folder: folder, trustedUserID: trustedUserID,
            limits: PAMLimits())
    }

    init(
        program: String, service: String, systemBus: String, folder: String, trustedUserID: UInt32, limits: PAMLimits
    ) {
        self.program = program
        self.service = service
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

    /// Makes one attempt, and blocks until the module has decided. Nothing of the attempt runs any more when this returns.
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
        _ = try serviceFile()
        let request = PAMRequest(service: service, folder: folder, trustedUserID: trustedUserID)
        let process = try PAMProcess(program, systemBus: systemBus, request)
        let end = Self.outcome(of: process, until: stop, within: limits, report)
        process.end()
        return try end.get()
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
        }
    }
}

/// Why a module decided nothing.
public enum PAMFailure: Error, Equatable, Sendable {
    /// The service file cannot be used.
    case service(PAMServiceDistrust)
    /// The service file was changed while the attempt began.
    case serviceChanged
    /// `ostiary-pam` cannot be started.
    case withoutHelper
    /// `ostiary-pam` ended without a result: its module crashed, or it was killed.
    case helperEnded
    /// The module asked for something to be typed.
    case asked
    /// The module does not know the user.
    case userUnknown
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
