import Foundation
import Glibc
import UnixSocket

/// A program that git or docker starts for one question, with the question on its standard input.
struct CredentialHelper {
    private let program: String
    private let environment: [String]
    /// The files with the questions.
    private let folder: String

    /// - Parameter folder: of its own.
    init(_ program: String, environment: [String], in folder: String) throws {
        (self.program, self.environment, self.folder) = (program, environment, folder)
        guard mkdir(folder, 0o700) == 0 else { throw SystemCallError("mkdir", subject: folder) }
    }

    /// Runs it once for its effect.
    func run(_ action: String, _ question: String) throws { try prepare(action, question).run() }

    /// The answer to a question.
    func answer(_ action: String, _ question: String) throws -> String {
        let output = Pipe()
        try prepare(action, question).run(output: output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        return String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    /// The question in a file, so that a run only opens it.
    func prepare(_ action: String, _ question: String) throws -> Prepared {
        let file = "\(folder)/\(action)"
        try question.write(toFile: file, atomically: true, encoding: .utf8)
        return Prepared(program: program, action: action, environment: environment, file: file)
    }

    struct Prepared {
        let program, action: String
        let environment: [String]
        let file: String

        /// From the start of the process to its end.
        func run(output: CInt? = nil) throws {
            let input = try Descriptor(open(file, O_RDONLY | O_CLOEXEC), from: "open", subject: file)
            try ChildProcess(
                program, [action], environment: environment, streams: .init(input: input.number, output: output)
            ).waitForSuccess()
        }
    }
}
