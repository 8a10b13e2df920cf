import PromptProgram
import PromptProtocol

/// `ostiary-prompt`: puts one question to a person on a terminal or through a pinentry, and ends.
@main
struct Program {
    static func main() {
        PromptProgram.run { request, watch in
            switch request.frontEnd {
            case .terminal:
                TerminalFrontEnd(terminal: PromptDescriptor.terminal, request: request).ask(watch)
            case .pinentry(let options):
                PinentryFrontEnd(options: options, request: request).ask(watch)
            case .sheet: .reply(.badRequest)
            }
        }
    }
}
