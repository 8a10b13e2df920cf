import ArgumentParser

/// A time of a lease, such as `90`, `90s`, `10m` or `2h`, in seconds.
struct LeaseTime: ExpressibleByArgument {
    let seconds: UInt32

    init?(argument: String) {
        let units: [Character: UInt32] = ["s": 1, "m": 60, "h": 3600]
        let unit = argument.last.flatMap { units[$0] }
        let digits = unit == nil ? argument[...] : argument.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt32(digits) else {
            return nil
        }
        let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLong, seconds > 0 else { return nil }
        self.seconds = seconds
    }
}
