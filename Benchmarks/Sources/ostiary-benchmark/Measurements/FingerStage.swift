import AccessControl
import Dispatch
import Foundation
import OstiaryClient
import OstiaryMessages

/// From fprintd's result of a touch to the moment when the program has its authorization.
struct FingerStage {
    let plan: Plan
    let daemonProgram: String

    private static let passcode = "a passcode of the benchmark"

    func run() throws -> Figures {
        let folder = try TemporaryFolder()
        let desktop = try VirtualDesktop(typing: Self.passcode)
        let sensor = try VirtualSensor(in: folder.path)
        let daemon = try PrivateDaemon(
            program: daemonProgram, in: DaemonFolders(path: folder.path),
            configuration: "prompt.front-ends = sheet\nprompt.display = \(desktop.display)\n", systemBus: sensor.bus)
        try daemon.start()
        let figure = try measure(desktop, sensor, DaemonFolders(path: folder.path).newClient())
        try daemon.stop()
        withExtendedLifetime(folder) {}
        return [.fingerMatchToReply: figure]
    }

    private func measure(_ desktop: VirtualDesktop, _ sensor: VirtualSensor, _ client: OstiaryClient) throws -> Figure {
        try client.passcode(.set, interaction: Interaction(reason: "measure fingers"))
        // A finger counts only after the passcode.
        let passcode = try right("passcode", client)
        try authorize(passcode, client)
        let finger = try right("biometry", client)
        desktop.isTyping = false
        var samples = Samples()
        for _ in 0..<plan.sheets {
            let touching = Touch(sensor)
            try authorize(finger, client)
            let end = MonotonicClock.now()
            try touching.finish()
            samples.append(end - min(sensor.lastResultTime, end))
        }
        return samples.figure(.milliseconds)
    }

    private func right(_ rule: String, _ client: OstiaryClient) throws -> Data {
        let accessControl = AccessControl(availability: .whenUnlocked, using: try Requirement(Rule(parsing: rule)))
        return try client.createRight(rule, accessControl: accessControl).id
    }

    private func authorize(_ right: Data, _ client: OstiaryClient) throws {
        try AuthorizationContext(client: client).authorize(
            .right(id: right), interaction: Interaction(reason: "measure fingers"))
    }
}

/// One touch, made by another thread as soon as the reader waits for it.
final class Touch: @unchecked Sendable {
    // SAFETY: written by the thread before `done`, read after it.
    private var error: (any Error)?
    private let done = DispatchSemaphore(value: 0)

    init(_ sensor: VirtualSensor) {
        // SAFETY: while this touch goes on, nobody else uses the sensor.
        nonisolated(unsafe) let sensor = sensor
        let thread = Thread { [self] in
            do { try sensor.touch() } catch { self.error = error }
            done.signal()
        }
        thread.start()
    }

    func finish() throws {
        done.wait()
        if let error { throw error }
    }
}
