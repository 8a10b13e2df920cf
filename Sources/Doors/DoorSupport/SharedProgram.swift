/// The programs that packages and installations have as one file with several names.
///
/// The name of the file that the kernel executes says which one a process is: by that name it is registered, and the daemon names it. The first
/// argument says nothing, because the caller chooses it: a program that is registered as one of them could be told to do the work of another.
package enum SharedProgram: String, CaseIterable, Sendable {
    case sshAgent = "ostiary-ssh-agent"
    case credentialHelper = "ostiary-credential-helper"
    case agePlugin = "age-plugin-ostiary"
    case unitCredentials = "ostiary-credentials"
    case passkeyDevice = "ostiary-hid"
    case pkcs11 = "ostiary-pkcs11d"

    /// The program of a file, by the last part of its path, byte for byte. Nil for every other name.
    ///
    /// - Parameter path: of the file that a process executes, as the kernel says it.
    package init?(executing path: [UInt8]) {
        guard path.first == UInt8(ascii: "/"), let name = ClientProcess.executedName(in: path),
            let program = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name.utf8) })
        else { return nil }
        self = program
    }

    /// The path of the file that this process executes; empty when it cannot be read.
    package static var executedPath: [UInt8] { ClientProcess.executedPath(at: "/proc/self/exe") ?? [] }

    /// Says that a file of this path is no program, and which names are.
    ///
    /// - Returns: the exit status for wrong usage.
    package static func refuse(_ path: [UInt8]) -> Int32 {
        DoorReport.note(refusal(of: path), program: "ostiary-doors")
        return 64
    }

    /// The words of ``refuse(_:)``.
    static func refusal(of path: [UInt8]) -> String {
        let names = allCases.map(\.rawValue).joined(separator: ", ")
        let name = ClientProcess.executedName(in: path) ?? ""
        let reason =
            ShownText.isName(name, scalarCount: 100)
            ? "The executed file is called “\(name)”, and is no program under this name."
            : "The name of the executed file cannot be told, so nobody knows which program it is."
        return "\(reason) Start it by one of its names, as script/install and the packages lay it out: \(names)."
    }
}
