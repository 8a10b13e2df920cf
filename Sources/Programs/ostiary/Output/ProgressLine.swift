/// How far a long piece of work is, on one line of standard error; silent where that is no terminal, and for the first half
/// second.
struct ProgressLine: ~Copyable {
    private static let patience = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(200)

    private let label: String
    private let total: Int?
    private let isEnabled: Bool
    private var next = ContinuousClock.now + patience
    private var isShown = false

    /// - Parameter total: bytes that there are, when known.
    init(_ label: String, total: Int?, isEnabled: Bool = StandardError.isTerminal) {
        self.label = label
        self.total = total
        self.isEnabled = isEnabled
    }

    deinit {
        // Carriage return, then erase to the end of the line.
        if isShown { StandardError.write("\r\u{1b}[K") }
    }

    mutating func update(_ count: Int) {
        guard isEnabled, ContinuousClock.now >= next else { return }
        next = ContinuousClock.now + Self.interval
        isShown = true
        StandardError.write("\r\(Self.text(label, count, total))\u{1b}[K")
    }

    static func text(_ label: String, _ count: Int, _ total: Int?) -> String {
        let done = "\(label.visibleLine) \(count >> 20) MiB"
        guard let total, total >= count, total > 0 else { return done }
        return done + " of \(total >> 20) MiB"
    }
}
