import Foundation
import Glibc
import SecretMemory
import UnixSocket

/// Where a result that is a file goes: `--output FILE`, with `-` and nothing for standard output.
struct OutputFile: Equatable {
    /// The kind of content. It decides about the file's mode and about terminals.
    enum Content {
        case text
        /// Never readable: a signature, a ciphertext, a point.
        case binary
        /// A plaintext or stored secret: for its owner only (mode 0600), and text or not, which is known when it is there.
        case secret
    }

    private enum Destination: Equatable {
        case standardOutput(isChosen: Bool)
        case file(path: String)
    }

    private let destination: Destination
    /// Whether an older file may be overwritten.
    private var replaces = false

    /// - Parameter argument: the value of `--output`, nil when it was not given.
    init(_ argument: String?) {
        destination =
            switch argument {
            case nil: .standardOutput(isChosen: false)
            case "-": .standardOutput(isChosen: true)
            case .some(let path): .file(path: path)
            }
    }

    /// The same place; an older file there may be overwritten.
    var replacing: OutputFile {
        var file = self
        file.replaces = true
        return file
    }

    /// The path of the file that writing would overwrite; nil for none.
    var olderFile: String? {
        guard case .file(let path) = destination, AtomicFile.isThere(path) else { return nil }
        return path
    }

    /// The path of the file; nil for standard output.
    var path: String? {
        guard case .file(let path) = destination else { return nil }
        return path
    }

    /// Throws when writing would be refused, before anybody is asked for a factor.
    func requireUsable(for content: Content) throws(CommandError) {
        switch destination {
        case .standardOutput(let isChosen):
            guard isChosen || content != .binary || !StandardOutput.isTerminal else { throw .binaryToTerminal }
        case .file(let path):
            do { try AtomicFile.requireWritable(path) } catch { throw .unwritableOutput(error) }
        }
    }

    /// Writes a result. A file appears at once with all of it, or not at all.
    func write(_ bytes: UnsafeRawBufferPointer, as content: Content) throws {
        switch destination {
        case .standardOutput(let isChosen): try unsafe writeToStandardOutput(bytes, content, isChosen: isChosen)
        case .file(let path):
            do {
                try unsafe AtomicFile.write(
                    bytes, to: path, mode: content == .secret ? 0o600 : 0o666, replacing: replaces)
            } catch { throw CommandError.unwritableOutput(error) }
        }
    }

    /// Writes several results to files, all or none.
    ///
    /// - Parameter results: of places that are files, and all of which may be overwritten, or none.
    static func write(_ results: [(file: OutputFile, data: Data)], as content: Content) throws(CommandError) {
        let files = results.compactMap { result in result.file.path.map { (path: $0, bytes: Array(result.data)) } }
        do {
            try AtomicFile.write(
                files, mode: content == .secret ? 0o600 : 0o666, replacing: results.contains { $0.file.replaces })
        } catch { throw .unwritableOutput(error) }
    }

    func write(_ data: Data, as content: Content) throws {
        try unsafe data.withUnsafeBytes { try unsafe write($0, as: content) }
    }

    func write(_ secret: borrowing SecretBytes) throws {
        try unsafe secret.withUnsafeBytes { (bytes) throws in try unsafe write(bytes, as: .secret) }
    }

    private func writeToStandardOutput(
        _ bytes: UnsafeRawBufferPointer, _ content: Content, isChosen: Bool
    ) throws {
        let isTerminal = StandardOutput.isTerminal
        if isTerminal, !isChosen {
            guard content != .binary, unsafe PrintableText.isPrintable(bytes) else {
                throw CommandError.binaryToTerminal
            }
        }
        try unsafe StandardOutput.write(bytes)
        // The shell's prompt begins on a line of its own; the result stays unchanged.
        if isTerminal, unsafe bytes.last != UInt8(ascii: "\n") { StandardError.line("") }
    }
}
