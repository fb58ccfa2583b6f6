"""What the figures were measured on."""
import platform


def name():
    with open('/proc/cpuinfo') as file:
        text = file.read()
    model = next((line.split(':')[1].strip() for line in text.splitlines() if line.startswith('model name')),
                 platform.processor())
    isa = 'AVX-512' if ' avx512f' in text else 'AVX2' if ' avx2' in text else platform.machine()
    return '%s, %s' % (model, isa)
