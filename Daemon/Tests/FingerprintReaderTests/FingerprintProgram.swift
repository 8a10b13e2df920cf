import FingerprintTestSupport
import Foundation
import Glibc
import SystemBusTestSupport
import TerminalTestSupport
import UnixSocket

/// A running `ostiary-fingerprint` on the bus of a test. It is killed with the value.
final class FingerprintProgram {
    let process: SpawnedProcess
    private let output: OutputPipe
    private let errors: OutputPipe

    /// A line of `--json`.
    struct Line: Decodable, Equatable {
        struct Reader: Decodable, Equatable {
            let name: String
            let scanType: String
        }

        var event: String?
        var finger: String?
        var touches: Int?
        var touchCount: Int?
        var hint: String?
        var message: String?
        var result: String?
        var fingers: [String]?
        var reader: Reader?
    }

    /// The object of a failure.
    struct Failure: Decodable, Equatable {
        struct Content: Decodable, Equatable {
            let code: Int
            let name: String
            let message: String
        }

        let error: Content
    }

    /// - Parameter userID: the user as whom it runs; nil for the test's. Others need root.
    init(_ arguments: [String], at busPath: String, asUser userID: UInt32? = nil) throws {
        let (output, writingOutput) = try OutputPipe.make()
        let (errors, writingErrors) = try OutputPipe.make()
        (self.output, self.errors) = (output, errors)
        let program = [Build.program("ostiary-fingerprint"), "--system-bus", busPath, "--service-user", "\(getuid())"]
        let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let command = wrapper + program + arguments
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()), descriptors: [-1, writingOutput.number, writingErrors.number])
    }

    convenience init(_ arguments: [String], on stack: FingerprintStack, asUser userID: UInt32? = nil) throws {
        try self.init(arguments, at: stack.bus.path, asUser: userID)
    }

    // MARK: while it runs

    func lines(waitMilliseconds: CInt = 0) -> [Line] {
        output.lines(waitMilliseconds: waitMilliseconds).compactMap {
            try? JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
    }

    /// Waits until it tells of the `count`th event of this kind.
    func waitFor(_ event: String, count: Int = 1) throws {
        try eventually("\(event) is told \(count) times") {
            lines(waitMilliseconds: 10).count { $0.event == event } >= count
        }
    }

    /// Waits until standard error has the text.
    func waitForWords(_ words: String) throws {
        try eventually("“\(words)” is said") { errors.text(waitMilliseconds: 10).contains(words) }
    }

    // MARK: after its end

    /// Waits for its end.
    func wait() throws -> ProcessEnding {
        let ending = process.wait()
        guard ending != .stillRunning else { throw StillRunning(said: text + words) }
        return ending
    }

    struct StillRunning: Error { let said: String }

    /// Standard output.
    var text: String { output.text(waitMilliseconds: 0) }

    /// Standard error.
    var words: String { errors.text(waitMilliseconds: 0) }

    /// Waits for its end, and returns its last object of standard error.
    func failure() throws -> (ending: ProcessEnding, error: Failure.Content) {
        let ending = try wait()
        let line = errors.lines(waitMilliseconds: 0).last ?? ""
        return (ending, try JSONDecoder().decode(Failure.self, from: Data(line.utf8)).error)
    }
}
