import Foundation

/// Shortens the arguments that a message about wrong usage repeats. A person still recognises the argument, but a text
/// or secret that was pasted into the wrong place is not repeated as a whole.
enum EchoedArguments {
    /// Characters that are shown of an argument.
    static let characterCount = 60

    /// `message` with every longer argument in it cut off; of `--option=value` the value is looked for as well.
    static func clipped(in message: String, _ arguments: [String]) -> String {
        let parts = arguments.flatMap { [$0] + $0.split(separator: "=", maxSplits: 1).map(String.init) }
        // The longest first: an argument may contain another one.
        return parts.filter { $0.count > characterCount }.sorted { $0.count > $1.count }.reduce(message) {
            message, part in
            message.replacingOccurrences(of: part, with: part.prefix(characterCount) + "…", options: .literal)
        }
    }
}
