import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient
import OstiaryMessages

/// The files that a command signs, with `--algorithm`, `--output` and `--json`.
struct SigningFiles: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The file to sign, - for standard input. Of several files each gets its signature in FILE.sig.",
            valueName: "file"))
    var files: [InputFile] = []

    @OptionGroup var algorithm: SigningAlgorithmOption
    @OptionGroup var result: ResultOutput

    /// No question names more files; the others are counted.
    private static let namedFileCount = 5
    private static let fileLimit = 1000

    /// The same with another file before the others.
    func behind(_ file: InputFile?) -> SigningFiles {
        var all = self
        if let file { all.files.insert(file, at: 0) }
        return all
    }

    /// Refuses files that do not go together, as wrong usage.
    func check() throws {
        guard !files.isEmpty else { throw ValidationError("Name a file to sign, or - for standard input.") }
        guard files.count > 1 else { return }
        guard files.count <= Self.fileLimit else {
            throw ValidationError("One call signs at most \(Self.fileLimit) files.")
        }
        guard result.output.output == nil else {
            throw ValidationError("Each of several files gets its signature in FILE.sig; leave --output out.")
        }
        guard !files.contains(where: \.isStandardInput) else {
            throw ValidationError("Standard input is signed alone, without other files.")
        }
        guard Set(files.map(\.name)).count == files.count else { throw ValidationError("A file is given twice.") }
    }

    /// The purpose of the question, for a prompt.
    var purpose: String {
        guard files.count > 1 else { return "sign \(files[0].shortName)" }
        let named = files.prefix(Self.namedFileCount).map(\.shortName).joined(separator: ", ")
        let others = files.count - Self.namedFileCount
        return "sign \(files.count) files: \(named)" + (others > 0 ? " and \(others) more" : "")
    }

    /// Signs every file, and writes the signatures when all are made.
    ///
    /// - Parameter authorize: asks the person, once for all files; gives the function that signs one of them.
    func sign(_ authorize: () throws -> (InputFile, SigningInput) throws -> Data) throws {
        try requireDistinct()
        let write = try destination()
        let inputs = try files.map { try algorithm.input($0, keepsContent: files.count == 1) }
        let sign = try authorize()
        try write(zip(files, inputs).map(sign))
    }

    /// Signs one of the files with a right or key that confirms each signature. The daemon hashes the file itself, because it shows
    /// the file.
    ///
    /// - Parameter input: the file as ``sign(_:)`` read it. Of several files none is kept in memory, so each is read again. A single
    ///   one may be a pipe, which cannot be.
    func confirmedSignature(
        _ file: InputFile, _ input: SigningInput, by id: Data, _ interaction: Interaction
    ) throws -> Data {
        let kept = try files.count == 1 ? input : algorithm.input(file, keepsContent: true)
        guard let content = kept.content else {
            throw CommandError.inputTooLarge(name: file.name, limit: WireLimits.tailByteCount)
        }
        return try OstiaryClient.shared.confirmAndSign(
            content, right: id, algorithm: algorithm.chosen.rawValue, interaction: interaction)
    }

    /// Checks the places of all signatures, and gives the function that writes them there.
    private func destination() throws -> ([Data]) throws -> Void {
        guard files.count > 1 else {
            let destination = try result.usable(for: .binary, apartFrom: files)
            return { try destination.write($0[0], as: .binary, key: "signature") }
        }
        guard !result.json.isGiven else {
            return { try JSONOutput.print(SignatureListDocument(files: files.map(\.name), signatures: $0)) }
        }
        let places = files.map { OutputFile($0.name + ".sig") }
        let usable = try OutputOption.usable(places, for: .binary, result.output.force, apartFrom: files)
        return { try OutputFile.write(zip(usable, $0).map { (file: $0, data: $1) }, as: .binary) }
    }

    /// Refuses two names of one file, which would get one signature twice.
    private func requireDistinct() throws(CommandError) {
        var names: [FileIdentity: String] = [:]
        for file in files {
            guard let identity = file.identity else { continue }
            if let other = names.updateValue(file.name, forKey: identity) {
                throw .usage("A file is given twice: \(other.quotedName) and \(file.name.quotedName).")
            }
        }
    }
}

/// The signatures of several files: `sign --json`.
struct SignatureListDocument: Encodable {
    struct Entry: Encodable {
        let file: String
        let signature: Data
    }

    let signatures: [Entry]

    init(files: [String], signatures: [Data]) {
        self.signatures = zip(files, signatures).map(Entry.init)
    }
}
