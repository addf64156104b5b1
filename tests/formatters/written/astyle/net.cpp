#include <string>
namespace net {
template<class T> class Client {
public:
    Client( std::string name ):name_( name ) {} int get(const T&path) const {
        return path.size()>3?1:0;
    }
private:
    std::string name_;
};
enum class State {
    Open,Closed,
};
inline int limit(int a,int b=2) {
    auto f=[a]( int x ) {
        return x*a;
    };
    return f( b );
}
}
