import Foundation
import Security
import Synchronization

/// The addresses of the texts that `CFSTR` made, by their bytes: each is made once and never freed.
private let constantStrings = Mutex<[[UInt8]: UInt]>([:])

/// The function that `CFSTR` calls.
@c(ostiary_constant_string)
public func constantString(_ text: UnsafePointer<CChar>?) -> Handle? {
    guard let text, let string = String(validatingCString: text) else { return nil }
    let bytes = Array(string.utf8)
    let address = constantStrings.withLock { addresses in
        if let address = addresses[bytes] { return address }
        let address = UInt(bitPattern: Handle(owning: NSString(string: string)))
        addresses[bytes] = address
        return address
    }
    return Handle(bitPattern: address)
}
