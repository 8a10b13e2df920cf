// What a person is told of a reader, wherever that is: beside a question, by the doctor, while a finger is enrolled.

extension ReaderFailure {
    /// What happened, as a sentence.
    public var explanation: String {
        switch self {
        case .withoutBus: "There is no system bus, so the fingerprint service cannot be reached."
        case .withoutService: "The fingerprint service fprintd is not installed."
        case .serviceNotStarted: "The fingerprint service fprintd is installed and does not start."
        case .untrustedService: "What calls itself fprintd does not run as root, so it is not believed."
        case .serviceEnded: "The fingerprint service fprintd ended; try again."
        case .silent, .stopped: "The fingerprint service fprintd does not answer."
        case .unexpected: "The fingerprint service fprintd answered what it should not."
        case .withoutReader: "No fingerprint reader is connected."
        case .disconnected: "The fingerprint reader was unplugged."
        case .denied:
            "The system (polkit) does not let Ostiary use the fingerprint reader: your session must be active at this "
                + "machine."
        case .deniedForOthers:
            "The fingerprint service does not let the daemon verify for other users: 50-ostiary.rules is missing."
        case .nothingEnrolled: "No finger is enrolled."
        case .busy: "Another program uses the fingerprint reader."
        case .readerFault: "The fingerprint reader failed; try again."
        }
    }

    /// What to do about it, as sentences with the command that helps.
    public var advice: String {
        switch self {
        case .withoutBus: "Start the system bus: `sudo systemctl start dbus.socket`."
        case .withoutService: "Install fprintd, on Debian with `sudo apt install fprintd`."
        case .serviceNotStarted: "`systemctl status fprintd.service` says why."
        case .untrustedService: "`busctl status net.reactivated.Fprint` shows the process. Find out who started it."
        case .serviceEnded: "If it ends again, `journalctl -u fprintd.service` says why."
        case .silent, .stopped: "Restart it: `sudo systemctl restart fprintd.service`."
        case .unexpected: "Restart it with `sudo systemctl restart fprintd.service`, or install a newer fprintd."
        case .withoutReader: "Connect a reader that fprintd supports. `lsusb` shows whether the machine sees it."
        case .disconnected: "Connect it, and try again."
        case .denied:
            "Log in at the machine itself. `loginctl session-status` shows whether your session is active, and "
                + "`pkaction --verbose --action-id net.reactivated.fprint.device.verify` what polkit asks for."
        case .deniedForOthers:
            "The rule of polkit belongs to Ostiary's package, below /usr/share/polkit-1/rules.d. Where it is there, "
                + "`journalctl -u polkit.service` says why polkit does not follow it."
        case .nothingEnrolled: "Enrol one with `ostiary fingerprint enroll`."
        case .busy: "Close the program that waits for a finger, for example a lock screen, and try again."
        case .readerFault: "If it fails again, unplug the reader and connect it again."
        }
    }
}

extension ScanHint {
    /// What the person should do differently.
    public var words: String {
        switch self {
        case .scanAgain: "The finger could not be read. Try again."
        case .swipeTooShort: "That was too short. Swipe your finger more slowly."
        case .notCentered: "Move your finger to the middle of the reader."
        case .removeAndScanAgain: "Lift your finger, and try again."
        }
    }
}

/// Bad touches in one use of a reader. Several of them are a sign of a dirty reader.
public struct BadTouches: Sendable {
    private var count = 0
    /// From this one on, the reader is said to be dirty.
    private static let patience = 3

    public init() {}

    /// Counts one, and returns what the person should do.
    public mutating func words(for hint: ScanHint) -> String {
        count += 1
        return count < Self.patience ? hint.words : "Clean the reader, and try again."
    }
}
