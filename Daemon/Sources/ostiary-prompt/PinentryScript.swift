import PromptProgram
import PromptProtocol

/// The settings that come before the question, in order. The external password cache is never allowed, and no key
/// information is given under which something could be cached.
struct PinentryScript {
    let options: PinentryOptions
    let request: PromptRequest

    struct Command {
        let line: [UInt8]
        /// Whether the question must not be put without it.
        let isRequired: Bool
    }

    /// nil when the dialog has no room for the question.
    var commands: [Command]? {
        let text = PromptText(request: request)
        guard let description else { return nil }
        var commands: [Command] = []
        if let path = options.terminalPath {
            commands.append(.init("OPTION", "ttyname=\(path)", isRequired: true))
            commands.append(.init("OPTION", "ttytype=\(options.terminalType.name)"))
        }
        commands.append(.init("OPTION", "lc-ctype=C.UTF-8"))
        commands.append(.init("SETTITLE", "Ostiary"))
        commands.append(.init("SETDESC", description, isRequired: true))
        commands.append(.init("SETPROMPT", "\(text.field):", isRequired: true))
        let cancelWords = text.cancelTitle.map { " (“\($0)”)" } ?? ""
        commands.append(.init("SETCANCEL", Self.buttonTitle("Cancel" + cancelWords)))
        commands.append(.init("SETOK", text.warning == nil ? "OK" : "Yes"))
        if text.isMistake, let notice = text.notice { commands.append(.init("SETERROR", notice)) }
        commands.append(.init("SETTIMEOUT", String(request.timeLimitSeconds)))
        commands.append(.init("SETKEYINFO", "--clear"))
        return commands
    }

    /// The question in one line, with the names of as many objects as fit.
    private var description: String? {
        let showsAll = request.question.isShownInFull
        let count = request.question.objects?.names.count ?? 1
        for named in ((showsAll ? count : 1)...count).reversed() {
            let text = PromptText(request: request, namedObjectCount: named)
            // A long list must not cut the program's path; one name shares the room with it.
            let description = PinentryDescription(text, showsAll: showsAll || named > 1)
            let room = Assuan.argumentByteCount(of: "SETDESC")
            if let line = description.text(within: room) { return line }
        }
        return nil
    }

    /// An underscore marks the next letter as a shortcut; doubled it is itself.
    private static func buttonTitle(_ title: String) -> String {
        title.replacing("_", with: "__")
    }
}

extension PinentryScript.Command {
    fileprivate init(_ name: String, _ argument: String, isRequired: Bool = false) {
        self.init(line: Assuan.command(name, argument), isRequired: isRequired)
    }
}
