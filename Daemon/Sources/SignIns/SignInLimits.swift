import Authenticators

/// Every limit on what a module can make the daemon hold or do. The times of the module are in `Documentation/formats/sign-in.md`.
enum SignInLimits {
    /// A message with all its parts.
    static let messageByteCount = 2048
    /// A text that the daemon sends. One message holds it, and so does a line of most programs.
    static let textByteCount = 1024
    /// The module sends its request as soon as it was greeted.
    static let requestMilliseconds: CInt = 5_000
    /// A module gives up after two seconds of silence.
    static let waitMilliseconds: CInt = 1_000
    /// A module that reads nothing for so long is given up.
    static let sendSeconds = 1
    /// How long a question of a conversation stays. The module keeps no time while the person types.
    static let question: Duration = .seconds(120)
    /// Lines about sensors in one conversation: a module takes 512 messages, of which up to 300 are waits.
    static let updateCount = 64
    /// How long the daemon waits until the module hangs up after the last word.
    static let endMilliseconds: CInt = 1_000
    /// Messages that are read and dropped then. A module sends one at most.
    static let lateMessageCount = 4
    /// How long the daemon's end waits for sign-ins, from its beginning on: a change of the passcode is carried out. Sessions end meanwhile.
    /// `TimeoutStopSec=` of `ostiaryd.service` is longer, so that the log is anchored afterwards.
    static let endSeconds = 5
    /// From this many wrong passcodes in a row on, a program of the user may not have one tried: it could be any of theirs.
    static let triesOfUser: UInt32 = 3
    /// The same for all sign-ins. Everybody at the machine can type at the login, and everybody in the network at `sshd`. So they get the
    /// tries that bring no pause, and nearer to the end of a chip's tries they get nobody.
    static let triesOfAll: UInt32 = 4
    /// Connections at once: of one process, of the processes of one user, and of all. Each costs two threads and three descriptors.
    static let connections = ShareLimits(ofProgram: 8, ofOwner: 16, total: 128)
    /// What users leave to root in any case.
    static let connectionsOfRoot = 32
}
