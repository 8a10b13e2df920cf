import Testing
import UnixSocket

@Suite("Path names")
struct PathNameTests {
    @Test(arguments: [
        ("s", ".", "s"), ("/", "/", ""), ("/s", "/", "s"), ("a/b", "a", "b"),
        ("/usr/bin/ostiary", "/usr/bin", "ostiary"),
        ("", ".", ""), ("a/", "a", ""),
    ])
    func `a path has a folder and a last part, however short it is`(path: String, folder: String, last: String) {
        #expect(PathName.folder(of: path) == folder)
        #expect(PathName.last(of: path) == last)
    }
}
