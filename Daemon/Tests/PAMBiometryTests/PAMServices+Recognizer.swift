import Cancellations
import FingerprintReader
import Glibc
import HelperProcesses
import PAMTestSupport
import StoreTestSupport
import TerminalTestSupport

@testable import PAMBiometry

/// The part under test, with services of the test's own.
extension PAMServices {
    func recognizer(
        _ service: String = "face", program: String = Build.program("ostiary-pam"), bus: String = "/dev/null",
        within duration: Duration = .seconds(60)
    ) -> PAMRecognizer {
        PAMRecognizer(
            .spawned(program: program), service: service, user: nil, systemBus: bus, folder: folder.path,
            trustedUserID: getuid(),
            limits: PAMLimits(attempt: duration))
    }

    /// One attempt; `take` is called with each text.
    func recognize(
        within duration: Duration = .seconds(60), bus: String = "/dev/null", until stop: PollableCancellation? = nil,
        _ take: (PAMText) throws -> Void = { _ in }
    ) throws -> Result<PAMRecognition, PAMFailure> {
        let stop = try stop ?? PollableCancellation()
        var problem: (any Error)?
        let result: Result<PAMRecognition, PAMFailure>
        do throws(PAMFailure) {
            result = .success(
                try recognizer(bus: bus, within: duration).recognize(until: stop) { text in
                    do { try take(text) } catch { problem = error }
                })
        } catch { result = .failure(error) }
        if let problem { throw problem }
        return result
    }
}
