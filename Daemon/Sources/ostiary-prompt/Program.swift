import CLinuxShims
import Foundation
import Glibc
import PromptProtocol
import SecretMemory
import UnixSocket

/// `ostiary-prompt`: puts one question to a person and ends. Started by the daemon only, with the descriptors of
/// ``PromptDescriptor``; it takes no arguments and reads no environment.
@main
struct Program {
    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        // A prompt that can be dumped or traced would show the typed secret.
        guard ostiary_forbid_dumps() == 0 else { exit(1) }
        ostiary_overwrite_freed_memory()
        _ = ostiary_die_with_parent(SIGTERM)
        signal(SIGPIPE, SIG_IGN)
        Reply.send(answer())
    }

    private static func answer() -> Answer {
        guard let signals = try? Descriptor(ostiary_end_signals(), from: "signalfd") else { return .reply(.badRequest) }
        guard let request = readRequest() else { return .reply(.badRequest) }
        let watch = PromptWatch(
            control: PromptDescriptor.control, signals: signals, timeLimit: .seconds(request.timeLimitSeconds))
        switch request.frontEnd {
        case .terminal:
            return TerminalFrontEnd(terminal: PromptDescriptor.terminal, request: request).ask(watch)
        case .pinentry(let options):
            return PinentryFrontEnd(options: options, request: request).ask(watch)
        }
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
