import Foundation
import Glibc
import PromptProtocol
import Settings
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing

@testable import Prompting

extension RealPromptTests {
    /// The real sheet and the real accessibility bus.
    @Suite struct SheetAccessibilityTests {
        private let accessibility: TestAccessibility
        private let stage: SheetStage

        init() throws {
            accessibility = try TestAccessibility()
            stage = try SheetStage(buses: SessionBuses(system: "/nonexistent", user: accessibility.userBus.path))
        }

        private static let question = PromptQuestion(
            .enterPasscode, sensors: [PromptSensor(.finger, DisplayText("Touch the sensor."))],
            objects: PromptObjects(DisplayText("GitHub token")), operation: DisplayText("read"),
            reason: DisplayText("to push"), notice: DisplayText("Wrong passcode."), triesLeft: 2,
            fallbackTitle: DisplayText("Use the recovery key"))

        @Test func `a screen reader finds the words, the field, the buttons and the sensor's state`() throws {
            let asking = try stage.ask(Self.question)
            let widgets = try accessibility.widgets()
            let field = try #require(widgets.first { $0.role == "password text" })
            #expect(field.name == "Passcode")
            for words in [
                "Ostiary asks for your passcode or your finger.", "Program: /usr/bin/asker", "For: GitHub token",
                "To: read", "It says: “to push”", "Wrong passcode. 2 tries left.",
            ] { #expect(field.description.contains(words), "\(field.description)") }
            let buttons = widgets.filter { $0.role == "push button" }.map(\.name)
            #expect(buttons == ["Show", "Cancel", "“Use the recovery key”", "Continue"])
            #expect(widgets.contains { $0.name == "Finger: Touch the sensor." })
            for state in ["Not recognised. 1 try left.", "The reader was unplugged.", "Touch the sensor."] {
                asking.live.update(PromptUpdate(sensor: 0, text: DisplayText(state)))
                try eventually("the new state is there") {
                    try accessibility.widgets().contains { $0.name == "Finger: \(state)" }
                }
            }
            try stage.server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test(arguments: [
            (
                SheetLanguage.german, "Passcode", ["Zeigen", "Abbrechen", "“Use the recovery key”", "Weiter"],
                ["asker möchte: read.", "Ostiary fragt nach: dein Passcode oder dein Finger.", "Falscher Passcode."]
            ),
            (
                .arabic, "رمز المرور", ["إظهار", "إلغاء", "“Use the recovery key”", "متابعة"],
                ["asker يريد: read.", "يطلب Ostiary: رمز المرور أو إصبعك.", "رمز المرور خاطئ."]
            ),
        ]) func `the sheet speaks the person's language`(
            _ language: SheetLanguage, _ name: String, _ buttons: [String], _ words: [String]
        ) throws {
            try Build.compileTranslations()
            let asking = try stage.ask(Self.question) { $0.sheetLanguage = language }
            let widgets = try accessibility.widgets()
            let field = try #require(widgets.first { $0.role == "password text" })
            #expect(field.name == name)
            for words in words { #expect(field.description.contains(words), "\(field.description)") }
            #expect(widgets.filter { $0.role == "push button" }.map(\.name) == buttons)
            try stage.server.type("typed")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        @Test func `layout, Caps Lock and the last seconds are told`() throws {
            let asking = try stage.ask(seconds: 25)
            func names() throws -> [String] { try accessibility.widgets().map(\.name) }
            #expect(try names().contains { $0.hasPrefix("Keyboard: ") })
            #expect(try names().contains { $0.contains(/^Ends in \d+ s$/) })
            let first = try names().first { $0.hasPrefix("Ends in ") }
            try eventually("the time goes down") { try names().first { $0.hasPrefix("Ends in ") } != first }
            try stage.server.press("Caps_Lock")
            try eventually("Caps Lock is told") { try names().contains("Caps Lock is on.") }
            try stage.server.press("Caps_Lock")
            try stage.server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `the password of the TPM's owner is asked for by its name`() throws {
            let asking = try stage.ask(PromptQuestion(.ownerPassword, operation: DisplayText("set the passcode")))
            let field = try #require(try accessibility.widgets().first { $0.role == "password text" })
            #expect(field.name == "Owner password of the TPM" && field.description.contains("not for your passcode"))
            try stage.server.type("swordfish")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("swordfish", .ownerPassword))
        }

        /// GTK's own entry would send every typed character.
        @Test func `no typed character goes over the accessibility bus`() throws {
            let folder = try TestFolder()
            let recorder = try accessibility.record(into: folder.path("messages"))
            let asking = try stage.ask(Self.question)
            // Something listens to the changes, as a screen reader does.
            _ = try accessibility.widgets()
            try stage.server.type("q7Kx")
            for key in ["Left", "BackSpace", "End"] { try stage.server.press(key) }
            try stage.server.type("Zw")
            let field = try #require(try accessibility.widgets().first { $0.role == "password text" })
            #expect(!field.text.contains(/[qKxZw7]/))
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("q7xZw", .passcode))
            recorder.end()
            let messages = try String(contentsOfFile: folder.path("messages"), encoding: .utf8)
            let change =
                /member=TextChanged\n   string "(insert|delete)"\n +int32 \d+\n +int32 \d+\n +variant +string "(.*)"/
            let changes = messages.matches(of: change)
            #expect(changes.filter { $0.output.1 == "insert" }.count >= 6)
            #expect(changes.allSatisfy { $0.output.2.allSatisfy { $0 == "*" } }, "\(changes.map(\.output.2))")
        }

        @Test func `a program on the bus fills in nothing and presses no button`() throws {
            let asking = try stage.ask(Self.question)
            // After a key of the person, too.
            try stage.server.type("a")
            try accessibility.fill("injected")
            for button in ["Show", "Continue", "“Use the recovery key”", "Cancel"] { try accessibility.press(button) }
            #expect(try accessibility.widgets().contains { $0.name == "Show" }, "what is typed is still hidden")
            // A pressed button would count within a quarter of a second.
            #expect(asking.wait(seconds: 1) == .stillAsking)
            try stage.server.type("b")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("ab", .passcode))
        }

        @Test func `a program on the bus confirms nothing`() throws {
            let asking = try stage.ask(
                PromptQuestion(
                    .confirmation(warning: DisplayText("All keys are lost.")), operation: DisplayText("remove")))
            #expect(asking.wait(seconds: 1.5) == .stillAsking, "the button waits for a second")
            try stage.server.press("Tab")
            try accessibility.press("Yes")
            #expect(asking.wait(seconds: 1) == .stillAsking)
            try stage.server.press("Return")
            #expect(asking.wait() == .confirmed)
        }

        @Test func `an accessibility bus that does not answer keeps no sheet away`() throws {
            try accessibility.stopBus()
            let asking = try stage.ask()
            try stage.server.type("typed")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        @Test func `the address comes from the user's bus, and only if somebody needs it`() throws {
            func address(_ userBus: String, of userID: UInt32 = geteuid()) -> String? {
                AccessibilityBus(buses: SessionBuses(system: "/nonexistent", user: userBus), userID: userID).address()
            }
            let enabled = try #require(address(accessibility.userBus.path))
            #expect(try accessibility.address().hasPrefix(enabled))
            #expect(address("/nonexistent") == nil)
            #expect(address(try TestAccessibility(isEnabled: false).userBus.path) == nil)
            if geteuid() != 0 { #expect(address(accessibility.userBus.path, of: geteuid() + 1) == nil) }
        }
    }
}

@Suite struct AccessibilityAddressTests {
    @Test(arguments: [
        ("unix:path=/run/user/1000/at-spi/bus_0,guid=0a", "/run/user/1000/at-spi/bus_0"),
        ("unix:path=/a-b_c", "/a-b_c"),
        ("unix:path=/a%2cb", nil), ("unix:path=/a;unix:path=/b", nil), ("unix:path=a", nil), ("tcp:host=x", nil),
        ("unix:abstract=/a", nil), ("unix:path=/a\n", nil), ("", nil),
    ]) func `only a plain path is taken from an address`(_ address: String, _ path: String?) {
        #expect(AccessibilityBus.socketPath(in: address) == path)
    }
}
