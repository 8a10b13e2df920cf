/// How far a long piece of work is, on one line of standard error; silent where that is no terminal, and for the first half
/// second.
struct ProgressLine: ~Copyable {
    private static let patience = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(200)

    enum Unit {
        case bytes
        /// Rights, keys and items.
        case entries
    }

    private let label: String
    private let unit: Unit
    private let total: Int?
    private let isEnabled: Bool
    private var next = ContinuousClock.now + patience
    private var isShown = false

    /// - Parameter total: how much there is, when known.
    init(_ label: String, total: Int?, unit: Unit = .bytes, isEnabled: Bool = StandardError.isTerminal) {
        self.label = label
        self.unit = unit
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
        StandardError.write("\r\(Self.text(label, count, total, unit))\u{1b}[K")
    }

    static func text(_ label: String, _ count: Int, _ total: Int?, _ unit: Unit = .bytes) -> String {
        func shown(_ count: Int) -> String { unit == .bytes ? "\(count >> 20) MiB" : "\(count)" }
        let done = "\(label.visibleLine) \(shown(count))"
        guard let total, total >= count, total > 0 else { return done }
        return done + " of \(shown(total))"
    }
}
