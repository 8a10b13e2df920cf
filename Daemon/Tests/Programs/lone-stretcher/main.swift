// Stretches the passcode of its argument where the system gives this process no thread, and prints the key in hexadecimal digits.

import Glibc
import Passcodes
import SecretMemory

// The limit does not bind root.
if geteuid() == 0, setgid(65534) != 0 || setuid(65534) != 0 { exit(2) }
var limit = rlimit(rlim_cur: 0, rlim_max: 0)
guard setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0 else { exit(2) }
var thread = pthread_t()
guard pthread_create(&thread, nil, { _ in nil }, nil) == EAGAIN else { exit(3) }
var passcode = SecretBytes(zeroed: CommandLine.arguments[1].utf8.count)
passcode.withUnsafeMutableBytes { $0.copyBytes(from: CommandLine.arguments[1].utf8) }
let key = try PasscodeStretcher().stretch(passcode, salt: StretchSalt(Array(0..<16))!)
print(key.withUnsafeBytes { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() })
