package import OwnerKeys
package import PromptProtocol

extension MissOutlook {
    /// The outcome of further wrong tries, for the person who tries again.
    package var consequence: DisplayText {
        if let triesBeforeLoss {
            return DisplayText(
                "After \(Self.counted(triesBeforeLoss)) the TPM refuses every passcode for good, even the right one.")
        }
        return DisplayText("After \(Self.counted(freeTriesLeft + 1)) you wait \(Self.words(nextDelay)).")
    }

    private static func counted(_ tries: Int) -> String {
        tries <= 1 ? "the next wrong one" : "\(tries) more wrong ones"
    }

    private static func words(_ wait: Duration) -> String {
        let minutes = Int((wait / .seconds(60)).rounded(.up))
        let (count, unit) = minutes.isMultiple(of: 60) ? (minutes / 60, "hour") : (minutes, "minute")
        return count == 1 ? "1 \(unit)" : "\(count) \(unit)s"
    }
}
