#define A(x) {
#ifdef B
A(
#endif
template<<<
