import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
public import PromptProtocol
import UnixSocket

/// The common part of the programs that ask people: they put one question and end. The daemon or the service
/// manager starts them, with the descriptors of ``PromptDescriptor``; to ask they take no arguments, and they decide by their environment
/// only which of the two started them.
public enum PromptProgram {
    /// Reads the request, lets `ask` put the question, and tells the daemon the answer.
    public static func run(_ ask: (PromptRequest, inout PromptWatch) -> Answer) {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        // A prompt that can be dumped or traced would show the typed secret.
        guard ostiary_forbid_dumps() == 0 else { exit(1) }
        ostiary_overwrite_freed_memory()
        _ = ostiary_die_with_parent(SIGTERM)
        signal(SIGPIPE, SIG_IGN)
        guard HelperStart.takeDescriptors() else { exit(1) }
        ReplyPipe.send(answer(ask))
    }

    private static func answer(_ ask: (PromptRequest, inout PromptWatch) -> Answer) -> Answer {
        guard let signals = try? Descriptor(ostiary_end_signals(), from: "signalfd") else { return .reply(.badRequest) }
        // Foreign code, such as a display's, may never return.
        guard HelperStart.endsAfterDaemon(on: PromptDescriptor.control) else { return .reply(.badRequest) }
        guard let request = readRequest() else { return .reply(.badRequest) }
        var watch = PromptWatch(
            control: PromptDescriptor.control, signals: signals, timeLimit: .seconds(request.timeLimitSeconds))
        return ask(request, &watch)
    }

    private static func readRequest() -> PromptRequest? {
        var bytes = Data()
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= PromptRequest.maximumByteCount + 4 {
            let count = unsafe read(PromptDescriptor.request, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return try? PromptRequest(decoding: bytes) }
            bytes.append(contentsOf: part[..<count])
        }
        return nil
    }
}
