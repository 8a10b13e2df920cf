import Security

@c(SecRandomCopyBytes)
public func copyRandomBytes(_ generator: Handle?, _ count: Int, _ bytes: UnsafeMutableRawPointer?) -> CInt {
    guard let bytes else { return count == 0 ? errSecSuccess : errSecParam }
    return SecRandomCopyBytes(nil, count, bytes)
}
