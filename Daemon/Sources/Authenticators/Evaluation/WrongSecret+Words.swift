import OwnerKeys
import Prompting

extension WrongSecret {
    /// The outcome of further wrong tries, for the person who tries again.
    var consequence: DisplayText {
        if let triesBeforeLoss {
            return DisplayText(
                "After \(Self.counted(triesBeforeLoss)) the TPM refuses every passcode for good, even the right one.")
        }
        return DisplayText("After \(Self.counted(freeTriesLeft + 1)) you wait \(Self.words(Self.firstDelay)).")
    }

    private static func counted(_ tries: Int) -> String {
        tries <= 1 ? "the next wrong one" : "\(tries) more wrong ones"
    }

    private static func words(_ wait: Duration) -> String {
        let minutes = Int((wait / .seconds(60)).rounded(.up))
        return minutes == 1 ? "1 minute" : "\(minutes) minutes"
    }
}
