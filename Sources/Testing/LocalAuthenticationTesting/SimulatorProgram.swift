import Foundation
import UnixSocket

/// Where the simulator's program lies.
enum SimulatorProgram {
    /// The variable that names it.
    static let variable = "OSTIARY_SIMULATOR"

    /// The path that was given, or that the variable names, or of the program beside this one, as SwiftPM builds it when the
    /// package's tests depend on it.
    static func find(_ path: String?) throws(SimulationError) -> String {
        let paths: [String]
        if let path = path ?? ProcessInfo.processInfo.environment[variable] {
            paths = [path]
        } else {
            let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            paths = [own, CommandLine.arguments[0]].map { PathName.folder(of: $0) + "/ostiary-simulator" }
        }
        guard let found = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw .simulatorNotFound(paths)
        }
        return found
    }
}
