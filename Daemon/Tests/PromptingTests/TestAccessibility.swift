import Foundation
import Glibc
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing

/// The accessibility bus of a session (at-spi2-core), and a program on it: a screen reader, or one with other plans.
final class TestAccessibility {
    /// The user's bus, which names the other one.
    let userBus: PrivateBus
    private let folder: TestFolder
    private let launcher: SpawnedProcess

    init(isEnabled: Bool = true) throws {
        (userBus, folder) = (try PrivateBus(), try TestFolder())
        launcher = try SpawnedProcess(
            "/usr/libexec/at-spi-bus-launcher",
            ["--launch-immediately", "--a11y=\(isEnabled ? 1 : 0)", "--screen-reader=0"],
            environment: [
                "PATH=/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=unix:path=\(userBus.path)", "HOME=\(folder.path(""))",
                "XDG_RUNTIME_DIR=\(folder.path(""))", "GSETTINGS_BACKEND=memory",
            ])
        try eventually("the accessibility bus has an address") { try !address().isEmpty }
    }

    func address() throws -> String {
        let answer = try? userBus.call("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus.GetAddress")
        return answer?.split(separator: "'").dropFirst().first.map(String.init) ?? ""
    }

    /// Stops the bus itself. It still accepts connections.
    func stopBus() throws {
        let children = try String(
            contentsOfFile: "/proc/\(launcher.processID)/task/\(launcher.processID)/children", encoding: .utf8)
        let bus = try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
        #expect(kill(bus, SIGSTOP) == 0)
    }

    // MARK: a program on the bus

    /// One thing of the sheet as the program sees it.
    struct Widget: Equatable {
        let role, name, description, text: String
    }

    /// All of the sheet.
    func widgets() throws -> [Widget] {
        try run("show").split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            try #require(parts.count == 4, "\(line)")
            return Widget(role: parts[0], name: parts[1], description: parts[2], text: parts[3])
        }
    }

    /// Presses the thing of that name.
    func press(_ name: String) throws { _ = try run("press", name) }

    /// Writes into the field.
    func fill(_ text: String) throws { _ = try run("fill", text) }

    private func run(_ arguments: String...) throws -> String {
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-W", "ignore", "-c", Self.program] + arguments
        process.environment = ["PATH": "/usr/bin:/bin", "AT_SPI_BUS_ADDRESS": try address(), "LC_ALL": "C.UTF-8"]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text
    }

    private static let program = """
        import sys, time, gi
        gi.require_version('Atspi', '2.0')
        from gi.repository import Atspi
        Atspi.init()
        def all_of(widget):
            yield widget
            for index in range(widget.get_child_count()):
                child = widget.get_child_at_index(index)
                if child: yield from all_of(child)
        def text_of(widget):
            try: return Atspi.Text.get_text(widget, 0, Atspi.Text.get_character_count(widget))
            except Exception: return ''
        end = time.monotonic() + 10
        while not [w for w in all_of(Atspi.get_desktop(0)) if w.get_role_name() == 'push button']:
            if time.monotonic() > end: sys.exit('no window')
            time.sleep(0.05)
        widgets = list(all_of(Atspi.get_desktop(0)))
        if sys.argv[1] == 'show':
            for w in widgets: print(w.get_role_name(), w.get_name(), w.get_description(), text_of(w), sep='\\t')
        if sys.argv[1] == 'press':
            for w in widgets:
                if w.get_name() == sys.argv[2] and w.get_role_name() == 'push button': Atspi.Action.do_action(w, 0)
        if sys.argv[1] == 'fill':
            for w in widgets:
                if w.get_role_name() == 'password text':
                    Atspi.EditableText.insert_text(w, 0, sys.argv[2], len(sys.argv[2]))
                    Atspi.Action.do_action(w, 0)
        """

    /// Records all messages of the bus until it is ended.
    func record(into file: String) throws -> SpawnedProcess {
        let output = open(file, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(output) }
        let recorder = try SpawnedProcess(
            "/usr/bin/dbus-monitor", ["--address", address()], descriptors: [-1, output, -1])
        try eventually("the bus is recorded") { try !Data(contentsOf: URL(fileURLWithPath: file)).isEmpty }
        return recorder
    }
}
