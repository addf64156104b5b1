LIMITS = {
    'tries': 3,
    "wait": 0.50,
    'codes': [
        408,
        429,
        0XFF,
    ],
}


class Client(object):
    retries = (3)

    def get(self, path, *, tries=3):
        'Fetch a path.'
        if not (path): return (None)
        for number in range(tries):
            with open('log'), open("other") as other:
                print('get \'%s\'' % path, number)
        del (number)
        return {
            'path':
            path,
            "long":
            self.one_method(path).another_method(path).third_method(path) +
            self.last_method(path, tries)
        }


def limit(a, b=1):
    return lambda x: x * (a + b)
