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

    /// Bytes of one fact in the description, so that all of them fit into one line of the protocol.
    private static let factByteCount = 160
    private static let reasonByteCount = 240

    var commands: [Command] {
        let text = PromptText(request: request)
        var commands: [Command] = []
        if let path = options.terminalPath {
            commands.append(.init("OPTION", "ttyname=\(path)", isRequired: true))
            commands.append(.init("OPTION", "ttytype=\(options.terminalType.name)"))
        }
        commands.append(.init("OPTION", "lc-ctype=C.UTF-8"))
        commands.append(.init("SETTITLE", "Ostiary"))
        commands.append(.init("SETDESC", description(text), isRequired: true))
        commands.append(.init("SETPROMPT", "\(text.field):", isRequired: true))
        commands.append(.init("SETCANCEL", Self.buttonTitle(text.cancelTitle)))
        commands.append(.init("SETOK", text.warning == nil ? "OK" : "Yes"))
        if let notice = text.notice { commands.append(.init("SETERROR", Self.clipped(notice, Self.reasonByteCount))) }
        commands.append(.init("SETTIMEOUT", String(request.timeLimitSeconds)))
        commands.append(.init("SETKEYINFO", "--clear"))
        return commands
    }

    private func description(_ text: PromptText) -> String {
        var lines = [text.heading]
        lines += text.facts.map { "\($0.label): \(Self.clipped($0.text, Self.factByteCount))" }
        if let warning = text.warning { lines.append(Self.clipped(warning, Self.reasonByteCount)) }
        // Last, because what does not fit into the line any more is cut off.
        if let reason = text.reason {
            lines.append("\(reason.label): \(Self.clipped(reason.text, Self.reasonByteCount))")
        }
        return lines.joined(separator: "\n")
    }

    /// An underscore marks the next letter as a shortcut; doubled it is itself.
    private static func buttonTitle(_ title: String) -> String {
        clipped(title, 60).replacing("_", with: "__")
    }

    private static func clipped(_ text: String, _ byteCount: Int) -> String {
        guard text.utf8.count > byteCount else { return text }
        var result = ""
        for character in text {
            guard result.utf8.count + character.utf8.count <= byteCount - 3 else { break }
            result.append(character)
        }
        return result + "…"
    }
}

extension PinentryScript.Command {
    fileprivate init(_ name: String, _ argument: String, isRequired: Bool = false) {
        self.init(line: Assuan.command(name, argument), isRequired: isRequired)
    }
}
