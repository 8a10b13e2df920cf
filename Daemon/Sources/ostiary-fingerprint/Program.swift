import ArgumentParser
import CLinuxShims
import FingerprintReader
import Glibc

/// `ostiary-fingerprint`: enrols, lists, deletes and verifies the fingers of the user as whom it runs.
///
/// `ostiary fingerprint` becomes this program, so polkit decides for the session of the person who typed that. The daemon takes
/// no part, and nothing that is done here opens anything.
@main
struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-fingerprint",
        abstract: "Does the work of `ostiary fingerprint`, which is what to use.")

    enum Action: String, ExpressibleByArgument, CaseIterable { case enroll, list, delete, verify }

    @Argument(help: "What to do.")
    var action: Action

    @Argument(help: "The finger, by fprintd's name; not for list.")
    var finger: String?

    @Flag(help: "delete: all enrolled fingers.")
    var all = false

    @Flag(help: "enroll: in place of the finger that has this name.")
    var replace = false

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Option(help: "The socket of the system bus.")
    var systemBus = "/run/dbus/system_bus_socket"

    @Option(help: "The number of the user as whom fprintd must run.")
    var serviceUser: UInt32 = 0

    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { Glibc.exit(Fault.Status.failed.rawValue) }
        ostiary_silence_crashes()
        Glibc.exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) -> CInt {
        let output = Output(isJSON: arguments.prefix { $0 != "--" }.contains("--json"))
        do {
            return try parse(arguments).carryOut(output).rawValue
        } catch let fault as Fault {
            output.fault(fault)
            return fault.status.rawValue
        } catch {
            guard !exitCode(for: error).isSuccess else {
                print(fullMessage(for: error))
                return Fault.Status.done.rawValue
            }
            output.fault(.usage(message(for: error)))
            return Fault.Status.usage.rawValue
        }
    }

    private func carryOut(_ output: Output) throws -> Fault.Status {
        let finger = try namedFinger()
        // Before the first other thread.
        let interruption = try Interruption()
        let fingers = Fingers(
            reader: FingerprintReader(socketPath: systemBus, serviceUserID: serviceUser), until: interruption.stop,
            output: output)
        let outcome: Result<Fault.Status, Fault>
        do throws(ReaderFailure) { outcome = try carryOut(on: fingers, finger) } catch .stopped {
            output.notice(Self.words(afterStopping: action))
            interruption.endBySignal()
        } catch {
            throw Fault(error, changesFingers: action == .enroll || action == .delete)
        }
        return try outcome.get()
    }

    private func carryOut(
        on fingers: Fingers, _ finger: Finger?
    ) throws(ReaderFailure) -> Result<Fault.Status, Fault> {
        switch action {
        case .enroll: try fingers.enroll(finger ?? .rightIndex, replacing: replace)
        case .list: try fingers.list()
        case .delete: try fingers.delete(finger)
        case .verify: try fingers.verify(finger)
        }
    }

    private func namedFinger() throws(Fault) -> Finger? {
        guard action != .delete || (finger == nil) == all else { throw .usage("Name a finger, or give --all.") }
        guard let finger else { return nil }
        guard action != .list else { throw .usage("list takes no finger.") }
        guard let known = Finger(rawValue: finger) else {
            let names = Finger.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("There is no finger of this name. The fingers are: \(names).")
        }
        return known
    }

    private static func words(afterStopping action: Action) -> String {
        switch action {
        case .enroll: "Stopped; no finger was enrolled."
        case .delete: "Stopped; `ostiary fingerprint list` shows what is left."
        case .list, .verify: "Stopped."
        }
    }
}
