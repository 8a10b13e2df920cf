public import Foundation

/// Stands for the window above which Apple's systems put their sheet (Apple's `ASPresentationAnchor`). Here the daemon draws
/// the question where the person is, and ignores the window that the program names.
open class ASPresentationAnchor: NSObject {
    public override init() { super.init() }
}
