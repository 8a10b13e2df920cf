import ArgumentParser
import Foundation
import Glibc
import UnixSocket

struct InitPackageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init-package",
        abstract: "Write a package for a program that was written for macOS or iOS.",
        discussion: """
            Makes a folder with a Package.swift that has all settings which such code needs on Linux, and stand-ins for the \
            modules os and Combine. Put your sources into it, and build. What is left to change by hand is printed, and stands \
            at the head of the Package.swift.

            Nothing that exists is overwritten.

            Example:
              ostiary init-package Notes --ostiary ../ostiary
            """)

    @Argument(help: "The program's name: letters, digits and _, a letter first.") var name: String

    @Option(
        help: "Ostiary's sources: a folder, or an address for git (https://, ssh://, file:// or user@host:path).",
        completion: .directory)
    var ostiary: String

    @Option(help: "The new folder; the program's name without this option.", completion: .directory) var into: String?

    @OptionGroup var json: JSONFlag

    func run() throws {
        guard PackageTemplate.isName(name) else {
            throw CommandError.usage("A program's name has letters, digits and _, and begins with a letter.")
        }
        guard !PackageTemplate.isTaken(name) else {
            throw CommandError.usage("\(name) is the name of a module that the package needs. Choose another one.")
        }
        let folder = into ?? name
        let template = PackageTemplate(name: name, source: try source(from: folder))
        try write(template, into: folder)
        guard !json.isGiven else {
            return try JSONOutput.print(["files": template.files.map { folder + "/" + $0.path }])
        }
        for file in template.files { try StandardOutput.line(folder + "/" + file.path) }
        StandardError.line(
            "Put your sources into \(folder)/Sources/\(name), and run `swift build` in \(folder).".visibleText)
        StandardError.line("These edits remain:")
        for edit in PackageTemplate.remainingEdits { StandardError.line("  " + edit) }
    }

    /// - Parameter package: the new folder.
    private func source(from package: String) throws -> PackageTemplate.Source {
        guard !GitAddress.isOne(ostiary) else {
            guard PackageTemplate.isLiteral(ostiary) else {
                throw CommandError.usage("The address of Ostiary's sources has a character that no address has.")
            }
            guard GitAddress.isSafe(ostiary) else {
                throw CommandError.usage(
                    "Nothing protects what comes from this address on its way. Use https://, ssh:// or user@host:path.")
            }
            return .repository(ostiary)
        }
        guard let path = unsafe realpath(ostiary, nil) else {
            throw CommandError.unreadableInput(SystemCallError("realpath", subject: ostiary))
        }
        defer { unsafe free(path) }
        let folder = unsafe String(cString: path)
        guard unsafe access(folder + "/Sources/Frameworks/Security", F_OK) == 0 else {
            throw CommandError.usage("There are no sources of Ostiary in \(folder).")
        }
        guard PackageTemplate.isLiteral(folder) else {
            throw CommandError.usage("The path of Ostiary's sources has a character that a Package.swift cannot name.")
        }
        guard !ostiary.hasPrefix("/") else { return .folder(folder) }
        return .folder(RelativePath.path(to: folder, from: try RelativePath.absolute(package)))
    }

    /// The folder must be new or empty, so that nothing of the person's is mixed with what is written.
    private func write(_ template: PackageTemplate, into folder: String) throws {
        do {
            let files = FileManager.default
            if files.fileExists(atPath: folder) {
                guard try files.contentsOfDirectory(atPath: folder).isEmpty else {
                    throw SystemCallError("mkdir", subject: folder, code: ENOTEMPTY)
                }
            }
            for file in template.files {
                let path = folder + "/" + file.path
                try files.createDirectory(atPath: PathName.folder(of: path), withIntermediateDirectories: true)
                try place(file.text, at: path)
            }
        } catch let error as SystemCallError {
            throw CommandError.unwritableOutput(error)
        } catch {
            throw CommandError.unwritableOutput(SystemCallError("mkdir", subject: folder, code: EACCES))
        }
    }

    private func place(_ text: String, at path: String) throws {
        var text = text
        try text.withUTF8 {
            try unsafe AtomicFile.write(UnsafeRawBufferPointer($0), to: path, mode: 0o666, replacing: false)
        }
    }
}
