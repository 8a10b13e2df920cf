import ArgumentParser
import KeyAlgorithms

/// `--algorithm` of the commands that sign.
struct SigningAlgorithmOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("The algorithm (default: \(AlgorithmName.signingDefault)).", valueName: "name"),
        completion: .list(AlgorithmName.shortNames(for: .sign)),
        transform: { try AlgorithmName.algorithm(named: $0, for: .sign) })
    var algorithm: KeyAlgorithm?

    /// The given algorithm, or the default one.
    var chosen: KeyAlgorithm {
        get throws { try algorithm ?? AlgorithmName.algorithm(named: AlgorithmName.signingDefault, for: .sign) }
    }

    /// The input for signing `file` with the chosen algorithm.
    func input(_ file: InputFile, keepsContent: Bool) throws -> SigningInput {
        try SigningInput(file, for: chosen, keepsContent: keepsContent)
    }
}
