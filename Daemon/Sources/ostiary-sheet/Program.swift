import Glibc
import PromptProgram
import PromptProtocol

/// `ostiary-sheet`: asks a person one question in a window on the desktop, and ends. Only the daemon starts it, with
/// the descriptors of ``PromptDescriptor`` and an environment that the daemon made. The environment names the display.
@main
struct Program {
    static func main() {
        PromptProgram.run { request, watch in
            guard case .sheet(let options) = request.frontEnd else { return .reply(.badRequest) }
            // The service manager knows no display. If the daemon started this process, all of them are set.
            for variable in options.environment { putenv(strdup(variable)) }
            return SheetFrontEnd(request: request, options: options).ask(&watch)
        }
    }
}
