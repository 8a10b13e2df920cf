import PromptProgram
import PromptProtocol

/// `ostiary-prompt`: puts one question to a person on a terminal, at the trusted place or through a pinentry, and ends.
@main
struct Program {
    /// In the folder that the service manager makes for the place (`RuntimeDirectory=`).
    private static let former = "/run/ostiary-vt/former"

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        #if OSTIARY_TEST_OPTIONS
            if arguments.count >= 4, arguments[0] == "--played-consoles" {
                let consoles = PlayedConsoles(path: arguments[1], terminal: arguments[2])
                let place = TrustedPlace(consoles: consoles, former: ConsoleFile(path: arguments[3]))
                return arguments.last == "--leave-place" ? place.leave() : run(place)
            }
        #endif
        let place = TrustedPlace(consoles: KernelConsoles(), former: ConsoleFile(path: former))
        // The service manager's last act for the place, also after the program was killed.
        if arguments == ["--leave-place"] { return place.leave() }
        run(place)
    }

    private static func run(_ place: TrustedPlace) {
        PromptProgram.run { request, watch in
            switch request.frontEnd {
            case .terminal:
                TerminalFrontEnd(terminal: PromptDescriptor.terminal, request: request).ask(watch)
            case .trustedPlace(let options): place.ask(request, options, watch)
            case .pinentry(let options):
                PinentryFrontEnd(options: options, request: request).ask(watch)
            case .sheet: .reply(.badRequest)
            }
        }
    }
}
