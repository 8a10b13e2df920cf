import Glibc
import SecretItems
import UnixSocket

/// `--only PROGRAM…`: programs as the daemon names them.
enum ReaderNames {
    /// As many as the daemon takes.
    private static let count = 16

    /// - Parameter words: paths, which are followed to the file itself, and application ids.
    /// - Throws: `usage` for a path of nothing, and for a program that has no name of its own.
    static func resolved(_ words: [String]) throws(SecretsFailure) -> [String] {
        guard words.count <= count else { throw .usage("An item is for at most \(count) programs.") }
        var names: [String] = []
        for word in words {
            let name = word.utf8.contains(UInt8(ascii: "/")) ? try file(word) : try applicationID(word)
            if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) }
        }
        return names
    }

    private static func file(_ path: String) throws(SecretsFailure) -> String {
        guard let real = unsafe realpath(path, nil) else {
            throw .usage(
                "There is no program at \(path.quotedName). Name the file that runs, for example $(command -v NAME).")
        }
        defer { unsafe free(real) }
        let name = unsafe String(cString: real)
        guard !name.utf8.contains(UInt8(ascii: "\n")) else {
            throw .usage("The path \(name.quotedName) has a line's end, and an item can be for no such program.")
        }
        guard try !isScript(name) else {
            throw .usage(
                "\(name.quotedName) is a script, which the daemon cannot tell from other scripts of its interpreter. An item can be "
                    + "only for a program with a file of its own.")
        }
        return name
    }

    private static func isScript(_ path: String) throws(SecretsFailure) -> Bool {
        var beginning: [UInt8] = [0, 0]
        do throws(SystemCallError) {
            let file = try Descriptor(
                unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), from: "open", subject: path)
            let number = file.number
            let count = unsafe beginning.withUnsafeMutableBytes { unsafe read(number, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw SystemCallError("read", subject: path) }
        } catch {
            // Some programs can be executed and not read. Those are none of an interpreter.
            guard error.code == EACCES else { throw .unreadable(error) }
            return false
        }
        return beginning == Array("#!".utf8)
    }

    /// The form that a registration's name has.
    private static func applicationID(_ word: String) throws(SecretsFailure) -> String {
        let isName =
            !word.isEmpty && word.utf8.count <= 128
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        // A bare word would be a program that somebody expects to be found on a path.
        guard isName, word.utf8.contains(UInt8(ascii: ".")) else {
            throw .usage(
                "\(word.quotedName) is neither a path nor an application id. Name the program's file, for example $(command -v NAME)."
            )
        }
        return word
    }
}
