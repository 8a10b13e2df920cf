import PromptProgram
import PromptProtocol

/// `ostiary-sheet`: puts one question to a person in a window on the desktop, and ends. Started by the daemon only, with the
/// descriptors of ``PromptDescriptor`` and an environment of the daemon's making, which names the display.
@main
struct Program {
    static func main() {
        PromptProgram.run { request, watch in
            guard case .sheet(let options) = request.frontEnd else { return .reply(.badRequest) }
            return SheetFrontEnd(request: request, options: options).ask(watch)
        }
    }
}
